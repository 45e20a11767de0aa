// What every computation that takes an interrupt owes to it.
#pragma once

#include <doctest/doctest.h>

#include <atomic>

#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::test {

// work(interrupt) asks at least `least` times on the whole, and throws Interrupted, whichever time it is told
// to stop.
template <class Work>
void check_interruptible(const Work& work, int least) {
  std::atomic<int> asked{0};
  work([&] {
    ++asked;
    return false;
  });
  const int total = asked;
  CHECK(total >= least);
  for (const int stop : {1, total / 5, total / 2, total - total / 5, total}) {
    CAPTURE(stop);
    asked = 0;
    CHECK_THROWS_AS(work([&] { return ++asked >= std::max(stop, 1); }), numerics::Interrupted);
    CHECK(asked >= stop);
  }
}

}  // namespace qksolve::test
