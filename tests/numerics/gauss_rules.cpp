#include "qksolve/numerics/gauss_rules.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

using namespace qksolve::numerics;

namespace {

double integrate(const GaussRule& rule, int power) {
  double sum = 0;
  for (std::size_t i = 0; i < rule.nodes.size(); ++i) sum += rule.weights[i] * std::pow(rule.nodes[i], power);
  return sum;
}

}  // namespace

TEST_CASE("Gauss rules are exact on polynomials of degree 2 n - 1") {
  for (const int n : {1, 2, 5, 12, 20}) {
    double normal_moment = 1;
    for (int power = 0; power <= std::min(2 * n - 1, 23); ++power) {
      CAPTURE(n);
      CAPTURE(power);
      const bool even = power % 2 == 0;
      if (even && power > 0) normal_moment *= power - 1;
      CHECK(integrate(gauss_legendre(n), power) ==
            doctest::Approx(even ? 2.0 / (power + 1) : 0.0).epsilon(1e-12));
      if (even) CHECK(integrate(gauss_hermite(n), power) == doctest::Approx(normal_moment).epsilon(1e-10));
    }
  }
}

TEST_CASE("a Gauss rule is not exact one degree higher") {
  for (const int n : {2, 5}) {
    CHECK(std::abs(integrate(gauss_legendre(n), 2 * n) - 2.0 / (2 * n + 1)) > 1e-4);
    CHECK(std::abs(integrate(gauss_hermite(n), 2 * n) / std::tgamma(n + 0.5) * std::sqrt(M_PI) /
                       std::pow(2, n) -
                   1) > 1e-3);
  }
}

TEST_CASE("a rule without nodes is refused") { CHECK_THROWS_AS(gauss_legendre(0), std::invalid_argument); }
