// The threshold of the second layer: a table, a second method, the bound.
#include "qksolve/phase/equations/bayes_optimal/two_layer_channel.hpp"

#include <doctest/doctest.h>

#include <Eigen/LU>
#include <cmath>
#include <numbers>

#include "qksolve/numerics/gauss_rules.hpp"
#include "qksolve/numerics/quasi_random.hpp"
#include "qksolve/numerics/statistics.hpp"
#include "qksolve/phase/finite_size/draws.hpp"

using namespace qksolve;
using namespace qksolve::phase::bayes;

TEST_CASE("threshold of the second layer: an independent computation, at least 1/6, which it approaches") {
  // This project's theory note, polar grids of another construction.
  for (const auto& [c, expected] :
       {std::pair{0.1, 0.2435551}, {0.5, 0.2027118}, {1.0, 0.1854778}, {2.0, 0.1742702}, {4.0, 0.1691355}}) {
    CAPTURE(c);
    const WeakThreshold found = second_layer_threshold(c, 1e-6);
    CHECK(found.converged);
    CHECK(std::abs(found.alpha - expected) < 1e-7 + found.error);
    CHECK(found.alpha > 1.0 / 6);
  }
  CHECK(second_layer_threshold(100, 1e-5).alpha == doctest::Approx(1.0 / 6).epsilon(1e-4));
}

TEST_CASE("threshold of the second layer: samples outside, a Cartesian rule inside") {
  const numerics::GaussRule rule = numerics::gauss_hermite(48);
  constexpr int kLog2 = 9, kReplicates = 8;
  constexpr std::size_t kPoints = std::size_t{1} << kLog2;
  for (const double c : {0.5, 2.0}) {
    CAPTURE(c);
    struct Place {
      Eigen::Matrix2d B;
      double weight;
    };
    const auto mixing = [c](double a, double b) -> Eigen::Matrix2d {
      return phase::softmax_attention(Eigen::Vector2d(a, b)) + c * Eigen::Matrix2d::Identity();
    };
    std::vector<Place> places;
    for (std::size_t i = 0; i < 48; ++i)
      for (std::size_t j = 0; j < 48; ++j) {
        const Eigen::Matrix2d A = mixing(rule.nodes[i], rule.nodes[j]);
        places.push_back({A.inverse(), rule.weights[i] * rule.weights[j] / A.determinant()});
      }
    Eigen::VectorXd means(kReplicates);
    for (int r = 0; r < kReplicates; ++r) {
      const auto x = numerics::shifted_sobol_normals(4, kLog2, 1, r);
      double sum = 0;
      for (std::size_t i = 0; i < kPoints; ++i) {
        const Eigen::Vector2d u =
            mixing(x[i], x[kPoints + i]) * Eigen::Vector2d(x[2 * kPoints + i], x[3 * kPoints + i]);
        double density = 0;
        Eigen::Matrix2d moment = Eigen::Matrix2d::Zero();
        for (const Place& place : places) {
          const Eigen::Vector2d z = place.B * u;
          const double p = place.weight * std::exp(-0.5 * z.squaredNorm());
          density += p;
          moment += p * z * z.transpose();
        }
        sum += (moment / density - Eigen::Matrix2d::Identity()).squaredNorm();
      }
      means(r) = sum / kPoints;
    }
    const auto expected = numerics::mean_estimate(means);
    const double excess = 1 / second_layer_threshold(c, 1e-6).alpha;
    CHECK(std::abs(excess - expected.mean) < 4 * *expected.error);
    CHECK(*expected.error < 0.02 * excess);
  }
}
