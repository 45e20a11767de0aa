#include "qksolve/numerics/interpolated_root.hpp"

#include <algorithm>
#include <cmath>

namespace qksolve::numerics {

double interpolate(const std::vector<Sample>& samples, std::size_t first, std::size_t last, double x) {
  double sum = 0;
  for (std::size_t j = first; j <= last; ++j) {
    double term = samples[j].f;
    for (std::size_t k = first; k <= last; ++k)
      if (k != j) term *= (x - samples[k].x) / (samples[j].x - samples[k].x);
    sum += term;
  }
  return sum;
}

InterpolatedRoot interpolated_root(const std::vector<Sample>& samples, std::size_t i) {
  const Sample &a = samples[i], &b = samples[i + 1];
  // Bisection: the polynomial passes through both ends, so a sign change stays bracketed.
  auto root = [&](std::size_t first, std::size_t last) {
    double low = a.x, high = b.x;
    for (int k = 0; k < 60; ++k) {
      const double middle = 0.5 * (low + high);
      ((interpolate(samples, first, last, middle) < 0) == (a.f < 0) ? low : high) = middle;
    }
    return 0.5 * (low + high);
  };
  const std::size_t size = samples.size();
  const std::size_t first = std::min(i > 0 ? i - 1 : 0, size > 4 ? size - 4 : 0);
  const std::size_t last = std::min(first + 3, size - 1);
  InterpolatedRoot found{root(first, last), 0.0};
  for (std::size_t from = first; from <= i; ++from)
    for (std::size_t to = i + 1; to <= last; ++to)
      found.error = std::max(found.error, std::abs(root(from, to) - found.x));
  if (last < first + 3) found.error = 0.5 * (b.x - a.x);
  found.error += std::max(a.error, b.error) * (b.x - a.x) / std::abs(b.f - a.f);
  return found;
}

}  // namespace qksolve::numerics
