#include "qksolve/phase/equations/bayes_optimal/weak_threshold.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "qksolve/numerics/gauss_rules.hpp"
#include "qksolve/numerics/pack.hpp"

namespace qksolve::phase::bayes {

using numerics::kLanes;
using numerics::Pack;

namespace {

// Places of z, kLanes at a time: S_11, S_22, z_l z_k and the weight of N(0, I).
struct Places {
  std::vector<Pack> s1, s2, z11, z12, z22, weight;
};

Places places_of(double sigma_1, double sigma_2, int angles, int radii) {
  const numerics::GaussRule radial = numerics::gauss_legendre(radii);
  const double radius = 9;
  Places places;
  std::size_t count = 0;
  for (int k = 0; k < angles; ++k)
    for (int j = 0; j < radii; ++j, ++count) {
      const std::size_t lane = count % kLanes;
      if (lane == 0)
        for (auto* column : {&places.s1, &places.s2, &places.z11, &places.z12, &places.z22, &places.weight})
          column->push_back(Pack{});
      // Half a turn: the attention is even in z.
      const double angle = std::numbers::pi * (k + 0.5) / angles;
      const double rho = 0.5 * radius * (1 + radial.nodes[static_cast<std::size_t>(j)]);
      const double z1 = rho * std::cos(angle), z2 = rho * std::sin(angle);
      const double h1 = sigma_1 * z1, h2 = sigma_2 * z2;
      places.s1.back()[lane] = 1 / (1 + std::exp(-h1 * (h1 - h2)));
      places.s2.back()[lane] = 1 / (1 + std::exp(-h2 * (h2 - h1)));
      places.z11.back()[lane] = z1 * z1;
      places.z12.back()[lane] = z1 * z2;
      places.z22.back()[lane] = z2 * z2;
      places.weight.back()[lane] = 0.5 * radius * radial.weights[static_cast<std::size_t>(j)] * rho *
                                   std::exp(-0.5 * rho * rho) / angles;
    }
  return places;
}

WeakIntegrals integrate(double sigma_1, double sigma_2, double s, int scale) {
  const Places places = places_of(sigma_1, sigma_2, 24 * scale, 12 * scale);
  // Trapezoidal rule in the seen values, which spread by s around [0, 1].
  const double step = 2 * s / scale, margin = 9 * s;
  const int count = static_cast<int>(std::ceil((1 + 2 * margin) / step)) + 1;
  const double factor = -0.5 / (s * s), density = step * step / (2 * std::numbers::pi * s * s);
  WeakIntegrals total;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j) {
      const double t1 = -margin + i * step, t2 = -margin + j * step;
      if (t1 + t2 < 1 - 2 * margin) continue;  // S_11 + S_22 >= 1
      Pack mass{}, m11{}, m12{}, m22{};
      for (std::size_t k = 0; k < places.weight.size(); ++k) {
        const Pack a = places.s1[k] - t1, b = places.s2[k] - t2;
        const Pack p = places.weight[k] * numerics::exp(factor * (a * a + b * b));
        mass += p;
        m11 += p * places.z11[k];
        m12 += p * places.z12[k];
        m22 += p * places.z22[k];
      }
      const double p = numerics::sum(mass);
      if (!(p > 1e-290)) continue;
      const double g11 = numerics::sum(m11) / p - 1, g12 = numerics::sum(m12) / p,
                   g22 = numerics::sum(m22) / p - 1;
      total.norm += density * p;
      total.excess += density * p * (g11 * g11 + 2 * g12 * g12 + g22 * g22);
    }
  return total;
}

}  // namespace

WeakThreshold refined_threshold(const std::function<WeakIntegrals(int scale)>& integrate, int largest_scale,
                                double tolerance) {
  double last = 1 / integrate(2).excess;
  WeakThreshold found{};
  for (int scale = 3; scale <= largest_scale; scale = (3 * scale + 1) / 2) {
    const WeakIntegrals here = integrate(scale);
    found.alpha = 1 / here.excess;
    found.error = std::abs(found.alpha - last);
    found.norm_error = std::abs(here.norm - 1);
    found.converged = found.error <= tolerance * found.alpha && found.norm_error <= tolerance;
    if (found.converged) break;
    last = found.alpha;
  }
  return found;
}

WeakThreshold noisy_weak_threshold(double sigma_1, double sigma_2, double s, double tolerance) {
  constexpr int kLargestScale = 9;
  return refined_threshold([&](int scale) { return integrate(sigma_1, sigma_2, s, scale); }, kLargestScale,
                           tolerance);
}

double weak_threshold_of_rank(int teacher_rank) {
  const double r = teacher_rank;
  return r * r / (4 * r + 2);
}

}  // namespace qksolve::phase::bayes
