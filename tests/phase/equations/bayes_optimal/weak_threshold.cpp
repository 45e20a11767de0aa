// Weak recovery from noisy labels and of teachers of higher rank.
#include "qksolve/phase/equations/bayes_optimal/weak_threshold.hpp"

#include <doctest/doctest.h>

#include <Eigen/Core>
#include <cmath>
#include <numbers>

#include "qksolve/numerics/gauss_rules.hpp"
#include "qksolve/numerics/quasi_random.hpp"
#include "qksolve/numerics/statistics.hpp"

using namespace qksolve;
using namespace qksolve::phase::bayes;

TEST_CASE("noise moves the weak threshold up from 1/6") {
  // This project's theory note, two grids of another construction, four digits.
  for (const auto& [s, expected] : {std::pair{0.05, 0.2561}, {0.1, 0.4198}, {0.2, 1.1706}, {0.4, 4.809}}) {
    CAPTURE(s);
    const WeakThreshold found = noisy_weak_threshold(0.5, 0.5, s, 1e-4);
    CHECK(found.converged);
    CHECK(found.norm_error < 1e-6);
    CHECK(found.alpha == doctest::Approx(expected).epsilon(2e-4));
  }
  // Much noise: E[z z' | t] - I is linear in t, with the covariances of z z' and S_jj over s^2 as coefficients.
  const double s = 3;
  const auto x = numerics::gauss_hermite(64);
  Eigen::Matrix2d with_first = Eigen::Matrix2d::Zero();
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < 64; ++j) {
      const Eigen::Vector2d z(x.nodes[i], x.nodes[j]);
      const double S = 1 / (1 + std::exp(-0.25 * z(0) * (z(0) - z(1))));
      with_first += x.weights[i] * x.weights[j] * S * (z * z.transpose() - Eigen::Matrix2d::Identity());
    }
  const double limit = s * s / (2 * with_first.squaredNorm());
  CHECK(noisy_weak_threshold(0.5, 0.5, s, 1e-4).alpha == doctest::Approx(limit).epsilon(0.02));
}

TEST_CASE("weak threshold of a teacher of rank r: r^2/(4 r + 2), by the posterior of the Gram matrix") {
  CHECK(weak_threshold_of_rank(1) == doctest::Approx(1.0 / 6).epsilon(1e-15));
  CHECK(weak_threshold_of_rank(2) == doctest::Approx(0.4).epsilon(1e-15));
  // K = z z' for z of 2 x r; the label shows a = K_11 - K_12 and b = K_22 - K_12, and with k = K_12 the
  // density of K is det(K)^{(r - 3)/2} exp(-(a + b)/2 - k), det K = a b + (a + b) k.
  const auto rule = numerics::gauss_legendre(200);
  constexpr int kLog2 = 12, kReplicates = 8;
  constexpr std::size_t kPoints = std::size_t{1} << kLog2;
  for (const int r : {2, 3}) {
    CAPTURE(r);
    Eigen::VectorXd means(kReplicates);
    for (int replicate = 0; replicate < kReplicates; ++replicate) {
      const auto x = numerics::shifted_sobol_normals(2 * r, kLog2, 2, replicate);
      double sum = 0;
      for (std::size_t i = 0; i < kPoints; ++i) {
        double k11 = 0, k12 = 0, k22 = 0;
        for (int m = 0; m < r; ++m) {
          const double z1 = x[static_cast<std::size_t>(m) * kPoints + i];
          const double z2 = x[static_cast<std::size_t>(r + m) * kPoints + i];
          k11 += z1 * z1;
          k12 += z1 * z2;
          k22 += z2 * z2;
        }
        const double a = k11 - k12, b = k22 - k12, lowest = -a * b / (a + b);
        double mass = 0, mean = 0;
        for (std::size_t j = 0; j < rule.nodes.size(); ++j) {
          // k = lowest + v^2 takes the root of the determinant away.
          const double v = 3.5 * (1 + rule.nodes[j]), k = lowest + v * v;
          const double p =
              rule.weights[j] * v * std::pow(a * b + (a + b) * k, 0.5 * (r - 3)) * std::exp(-v * v);
          mass += p;
          mean += p * k;
        }
        const double k = mean / mass;
        sum += std::pow((a + k) / r - 1, 2) + std::pow((b + k) / r - 1, 2) + 2 * std::pow(k / r, 2);
      }
      means(replicate) = sum / kPoints;
    }
    const auto found = numerics::mean_estimate(means);
    CHECK(std::abs(found.mean - 1 / weak_threshold_of_rank(r)) < 4 * *found.error);
    CHECK(*found.error < 0.01 * found.mean);
  }
}
