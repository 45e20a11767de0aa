// Gauss quadrature rules with a number of nodes chosen at run time.
#pragma once

#include <vector>

namespace qksolve::numerics {

struct GaussRule {
  std::vector<double> nodes;    // ascending
  std::vector<double> weights;  // same length, positive
};

// Integral over [-1, 1]: exact for polynomials of degree <= 2 n - 1. n >= 1, else std::invalid_argument.
GaussRule gauss_legendre(int n);

// Expectation over N(0, 1) (weights sum to 1): exact for polynomials of degree <= 2 n - 1. n >= 1.
GaussRule gauss_hermite(int n);

}  // namespace qksolve::numerics
