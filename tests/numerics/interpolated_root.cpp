#include "qksolve/numerics/interpolated_root.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace qksolve::numerics;

namespace {

std::vector<Sample> sampled(double (*f)(double), double low, double high, int count, double error = 0) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) {
    const double x = low + (high - low) * i / (count - 1);
    samples.push_back({x, f(x), error});
  }
  return samples;
}

std::size_t cell_of_root(const std::vector<Sample>& s) {
  std::size_t i = 0;
  while ((s[i].f < 0) == (s[i + 1].f < 0)) ++i;
  return i;
}

}  // namespace

TEST_CASE(
    "the root of a cubic through four points is exact, and the error says what a quadratic would give") {
  const auto s = sampled([](double x) { return (x - 0.3) * (x * x + 1.0); }, -1.0, 1.5, 6);
  const InterpolatedRoot root = interpolated_root(s, cell_of_root(s));
  CHECK(root.x == doctest::Approx(0.3).epsilon(1e-12));
  CHECK(root.error > 1e-4);
}

TEST_CASE("the error bounds the distance to the root of a smooth function, wherever the root lies") {
  for (int count : {6, 11, 21, 41}) {
    for (double low = 0.1; low < 1.0; low += 0.13) {
      const auto s = sampled([](double x) { return std::cos(x) - 0.4 * x; }, low, low + 2.0, count);
      bool changes = false;
      for (std::size_t i = 0; i + 1 < s.size(); ++i) changes = changes || (s[i].f < 0) != (s[i + 1].f < 0);
      if (!changes) continue;
      const InterpolatedRoot root = interpolated_root(s, cell_of_root(s));
      CHECK(std::abs(std::cos(root.x) - 0.4 * root.x) <= root.error * (std::sin(root.x) + 0.4));
    }
  }
}

TEST_CASE("errors of the function count as errors of the root; too few points leave half of the cell") {
  const auto exact = sampled([](double x) { return 2.0 * x - 1.0; }, 0, 3, 4),
             rough = sampled([](double x) { return 2.0 * x - 1.0; }, 0, 3, 4, 0.1);
  CHECK(interpolated_root(exact, 0).error == doctest::Approx(0).epsilon(1e-12));
  CHECK(interpolated_root(rough, 0).error == doctest::Approx(0.05));
  const auto two = sampled([](double x) { return x - 0.25; }, 0, 1, 2);
  CHECK(interpolated_root(two, 0).x == doctest::Approx(0.25));
  CHECK(interpolated_root(two, 0).error == doctest::Approx(0.5));
}
