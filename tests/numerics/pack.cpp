#include "qksolve/numerics/pack.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace qksolve::numerics;

TEST_CASE("exp of a pack is exp of each lane to a few units in the last place") {
  double worst = 0;
  for (double x = -699.9; x < 699.9; x += 0.0317) {
    Pack p = broadcast(x);
    p[3] = -x;
    const Pack e = exp(p);
    worst = std::max(worst, std::abs(e[0] / std::exp(x) - 1));
    worst = std::max(worst, std::abs(e[3] / std::exp(-x) - 1));
  }
  CHECK(worst < 4e-16);
  CHECK(exp(broadcast(0.0))[5] == 1.0);
  CHECK(exp(broadcast(-1e6))[0] < 1e-300);
  CHECK(std::isfinite(exp(broadcast(1e6))[0]));
}

TEST_CASE("reductions and selections act on every lane") {
  Pack a;
  for (int i = 0; i < kLanes; ++i) a[i] = i - 3.0;
  CHECK(sum(a) == 8.0 * 7.0 / 2.0 - 24.0);
  CHECK(maximum(a) == 4.0);
  CHECK(maximum(abs(-2.0 * a)) == 8.0);
  CHECK(any(a > 3.5));
  CHECK_FALSE(any(a > 4.5));
  CHECK(all(a > -3.5));
  CHECK_FALSE(all(a > -2.5));
  const Pack clipped = select(a < 0.0, Pack{}, a);
  CHECK(clipped[0] == 0.0);
  CHECK(clipped[7] == 4.0);
}
