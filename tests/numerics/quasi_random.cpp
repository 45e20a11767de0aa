#include "qksolve/numerics/quasi_random.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

using namespace qksolve::numerics;

namespace {

// E[(x_0 + x_1 x_2)^2 x_3^2] = 1 + 1 for independent standard normals.
double estimate(int log2_points, int replicate) {
  const auto x = shifted_sobol_normals(4, log2_points, 7, replicate);
  const std::size_t n = x.size() / 4;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double f = x[i] + x[n + i] * x[2 * n + i];
    sum += f * f * x[3 * n + i] * x[3 * n + i];
  }
  return sum / static_cast<double>(n);
}

}  // namespace

TEST_CASE("randomised Sobol points are normal, unbiased, and converge faster than independent ones") {
  double last_spread = 0;
  for (const int log2_points : {8, 14}) {
    const int replicates = 16;
    double mean = 0, square = 0;
    for (int k = 0; k < replicates; ++k) {
      const double value = estimate(log2_points, k);
      mean += value / replicates;
      square += value * value / replicates;
    }
    const double spread = std::sqrt(std::max(0.0, square - mean * mean));
    CHECK(std::abs(mean - 2.0) < 5 * spread / std::sqrt(replicates - 1.0));
    if (last_spread > 0)
      CHECK(spread < last_spread / 16);  // 64 times the points: independent ones would give 8
    last_spread = spread;
  }
}

TEST_CASE("randomised Sobol points depend on seed, replicate and nothing else") {
  const auto a = shifted_sobol_normals(3, 5, 1, 0);
  CHECK(a == shifted_sobol_normals(3, 5, 1, 0));
  CHECK(a != shifted_sobol_normals(3, 5, 2, 0));
  CHECK(a != shifted_sobol_normals(3, 5, 1, 1));
  CHECK_THROWS_AS(shifted_sobol_normals(3, 2, 1, 0), std::invalid_argument);
}
