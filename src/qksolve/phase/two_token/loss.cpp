#include "qksolve/phase/two_token/loss.hpp"

#include <algorithm>
#include <array>

namespace qksolve::phase {

double squared_logistic_curvature_bound(double t) {
  // With l = logistic(u) the curvature is 2 l (1-l) (-t + 2 (1+t) l - 3 l^2), affine in t: its minimum over l
  // is concave in t, so that linear interpolation between exact minima is a lower bound.
  constexpr int kCells = 32;
  static const std::array<double, kCells + 1> minima = [] {
    std::array<double, kCells + 1> table{};
    for (int k = 0; k <= kCells; ++k) {
      const double at = static_cast<double>(k) / kCells;
      for (int i = 0; i <= 4096; ++i) {
        const double l = i / 4096.0;
        table[k] = std::min(table[k], 2.0 * l * (1.0 - l) * (-at + 2.0 * (1.0 + at) * l - 3.0 * l * l));
      }
      table[k] -= 1e-6;  // the scan over l is this close to the minimum
    }
    return table;
  }();
  const double position = std::clamp(t, 0.0, 1.0) * kCells;
  const int cell = std::min(static_cast<int>(position), kCells - 1);
  const double share = position - cell;
  return (1.0 - share) * minima[cell] + share * minima[cell + 1];
}

}  // namespace qksolve::phase
