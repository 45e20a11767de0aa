#include "qksolve/phase/equations/bayes_optimal/two_layer_channel.hpp"

#include <cmath>
#include <numbers>
#include <vector>

#include "qksolve/numerics/gauss_rules.hpp"
#include "qksolve/numerics/pack.hpp"
#include "qksolve/phase/two_token/teacher.hpp"

namespace qksolve::phase::bayes {

using numerics::kLanes;
using numerics::Pack;

namespace {

// Places of z1, kLanes at a time: the inverse B of A = softmax(z1 z1') + c I and the weight of its density.
struct Places {
  std::vector<Pack> b11, b12, b21, b22, weight;
};

Places places_of(double c, int angles, int radii) {
  Model model;
  model.sigma.setOnes();
  model.omega = 0;
  const std::vector<TeacherNode> nodes = teacher_rule(model, angles, radii, 9.0, true);
  Places places;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t lane = i % kLanes;
    if (lane == 0)
      for (auto* column : {&places.b11, &places.b12, &places.b21, &places.b22, &places.weight})
        column->push_back(Pack{});
    const double a = nodes[i].t1, b = nodes[i].t2;
    // a + b >= 1: the determinant is at least c + c^2.
    const double determinant = a + b - 1 + c * (a + b) + c * c;
    places.b11.back()[lane] = (b + c) / determinant;
    places.b12.back()[lane] = (a - 1) / determinant;
    places.b21.back()[lane] = (b - 1) / determinant;
    places.b22.back()[lane] = (a + c) / determinant;
    places.weight.back()[lane] = nodes[i].weight / determinant / (2 * std::numbers::pi);
  }
  return places;
}

// Polar rule for u about the axes u1 = u2 and u1 = -u2, of which a quarter is enough.
WeakIntegrals integrate(double c, int scale) {
  const Places places = places_of(c, 16 * scale, 12 * scale);
  const int angles = 24 * scale;
  const numerics::GaussRule radial = numerics::gauss_legendre(16 * scale);
  // The norm of a matrix with rows that sum to 1 is at most sqrt(2).
  const double radius = 9 * (std::numbers::sqrt2 + c);
  const std::size_t count = places.weight.size();
  std::vector<Pack> x(count), y(count), minus_half(count);
  WeakIntegrals total;
  for (int k = 0; k < angles; ++k) {
    const double angle = 0.5 * std::numbers::pi * (k + 0.5) / angles;
    const double e1 = (std::sin(angle) + std::cos(angle)) / std::numbers::sqrt2;
    const double e2 = (std::sin(angle) - std::cos(angle)) / std::numbers::sqrt2;
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = places.b11[i] * e1 + places.b12[i] * e2;
      y[i] = places.b21[i] * e1 + places.b22[i] * e2;
      minus_half[i] = -0.5 * (x[i] * x[i] + y[i] * y[i]);
    }
    for (std::size_t j = 0; j < radial.nodes.size(); ++j) {
      const double rho = 0.5 * radius * (1 + radial.nodes[j]);
      Pack density{}, xx{}, xy{}, yy{};
      for (std::size_t i = 0; i < count; ++i) {
        const Pack p = places.weight[i] * numerics::exp(rho * rho * minus_half[i]);
        density += p;
        xx += p * x[i] * x[i];
        xy += p * x[i] * y[i];
        yy += p * y[i] * y[i];
      }
      const double p = numerics::sum(density);
      if (!(p > 0)) continue;
      const double scaled = rho * rho / p;
      const double g11 = scaled * numerics::sum(xx) - 1, g22 = scaled * numerics::sum(yy) - 1;
      const double g12 = scaled * numerics::sum(xy);
      const double weight =
          2 * std::numbers::pi / angles * 0.5 * radius * radial.weights[j] * rho * p;  // of all quarters
      total.norm += weight;
      total.excess += weight * (g11 * g11 + 2 * g12 * g12 + g22 * g22);
    }
  }
  return total;
}

}  // namespace

WeakThreshold second_layer_threshold(double c, double tolerance) {
  constexpr int kLargestScale = 14;
  return refined_threshold([&](int scale) { return integrate(c, scale); }, kLargestScale, tolerance);
}

}  // namespace qksolve::phase::bayes
