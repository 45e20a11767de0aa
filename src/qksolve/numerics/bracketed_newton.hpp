// Newton's method inside a bracket.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

namespace qksolve::numerics {

// A root of an increasing function between low and high, f(low) <= 0 <= f(high). `f` returns {value,
// derivative}. Steps that leave the bracket are replaced by bisection. Stops when a step is below 2^-51 of
// the largest end (or the value is 0), and after 200 steps in any case.
template <class Function>
double bracketed_newton(Function f, double low, double high, double guess) {
  const double smallest = std::ldexp(std::max(std::abs(low), std::abs(high)), -51);
  double x = guess > low && guess < high ? guess : 0.5 * (low + high);
  for (int i = 0; i < 200; ++i) {
    const auto [value, derivative] = f(x);
    if (value == 0) return x;
    (value < 0 ? low : high) = x;
    double next = x - value / derivative;
    if (!(next > low && next < high)) {
      if (std::abs(next - x) <= smallest || high - low <= smallest) return x;
      next = 0.5 * (low + high);
    }
    const double step = std::abs(next - x);
    x = next;
    if (step <= smallest) return x;
  }
  return x;
}

}  // namespace qksolve::numerics
