// Roots of a function that is known at some points only.
#pragma once

#include <cstddef>
#include <vector>

namespace qksolve::numerics {

struct Sample {
  double x, f, error;  // error of f, >= 0
};

struct InterpolatedRoot {
  double x, error;
};

// Value at x of the polynomial through samples first .. last (included), Lagrange form.
double interpolate(const std::vector<Sample>& samples, std::size_t first, std::size_t last, double x);

// Root between samples i and i + 1, of ascending x, where f has opposite signs: that of the cubic through
// four samples around. The error is the largest difference to the roots of the polynomials through fewer of
// them, plus the larger error of f at the two ends over the slope between them. With fewer than four samples
// in all there is no telling: half of the distance of the two.
InterpolatedRoot interpolated_root(const std::vector<Sample>& samples, std::size_t i);

}  // namespace qksolve::numerics
