#include "qksolve/numerics/random_normals.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using qksolve::numerics::fill_normals;
using qksolve::numerics::RandomStream;

TEST_CASE("moments and tails of the deviates are those of the normal law") {
  const std::size_t count = 1'000'000;
  std::vector<double> x(count);
  fill_normals({1, 2, 3, 4}, 5, x.data(), count);
  double moments[9] = {};
  std::size_t beyond_two = 0;
  for (const double value : x) {
    for (int k = 1; k <= 8; ++k) moments[k] += std::pow(value, k) / static_cast<double>(count);
    beyond_two += std::abs(value) > 2.0;
  }
  // E x^(2k) = (2k - 1)!!; five standard errors.
  const double expected[17] = {1, 0, 1, 0, 3, 0, 15, 0, 105, 0, 945, 0, 10395, 0, 135135, 0, 2027025};
  for (int k = 1; k <= 8; ++k) {
    CAPTURE(k);
    const double error =
        std::sqrt((expected[2 * k] - expected[k] * expected[k]) / static_cast<double>(count));
    CHECK(std::abs(moments[k] - expected[k]) < 5 * error);
  }
  const double share = std::erfc(std::sqrt(2.0));
  CHECK(std::abs(static_cast<double>(beyond_two) / count - share) < 5 * std::sqrt(share / count));
}

TEST_CASE("a deviate depends on its place only, and streams and rows differ") {
  std::vector<double> few(5), many(40), other(5);
  const RandomStream stream{1, 2, 3, 4};
  fill_normals(stream, 0, few.data(), few.size());
  fill_normals(stream, 0, many.data(), many.size());
  for (std::size_t i = 0; i < few.size(); ++i) CHECK(few[i] == many[i]);
  for (const RandomStream& changed : {RandomStream{0, 2, 3, 4}, {1, 0, 3, 4}, {1, 2, 0, 4}, {1, 2, 3, 0}}) {
    fill_normals(changed, 0, other.data(), other.size());
    CHECK(other != few);
  }
  fill_normals(stream, 1, other.data(), other.size());
  CHECK(other != few);
}

TEST_CASE("the deviates are the Box-Muller transform of Philox words") {
  // Independent of the program: Random123's kat vector for philox4x64 with zero key and counter, 10 rounds.
  const std::uint64_t first = 0x16554d9eca36314cULL;
  std::vector<double> x(16);
  fill_normals({}, 0, x.data(), x.size());
  const double radius = std::hypot(x[0], x[8]);
  CHECK(std::exp(-0.5 * radius * radius) ==
        doctest::Approx(static_cast<double>(first) * 0x1p-64).epsilon(1e-14));
}
