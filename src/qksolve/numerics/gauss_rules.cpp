#include "qksolve/numerics/gauss_rules.hpp"

#include <cmath>
#include <stdexcept>

#include "qksolve/numerics/dense.hpp"

namespace qksolve::numerics {
namespace {

// Golub & Welsch (1969): nodes are the eigenvalues of the symmetric tridiagonal Jacobi matrix of the
// orthonormal polynomials, weights the total mass times the squared first components of the eigenvectors.
template <class Diagonal, class OffDiagonal>
GaussRule golub_welsch(int n, double mass, Diagonal diagonal, OffDiagonal off_diagonal) {
  if (n < 1) throw std::invalid_argument("a Gauss rule needs at least one node");
  Eigen::VectorXd a(n), b(n - 1);
  for (int k = 0; k < n; ++k) a[k] = diagonal(k);
  for (int k = 1; k < n; ++k) b[k - 1] = off_diagonal(k);
  const SymmetricEigen eigen = tridiagonal_eigen(a, b);
  GaussRule rule;
  for (int k = 0; k < n; ++k) {
    const double first = eigen.vectors(0, k);
    rule.nodes.push_back(eigen.values[k]);
    rule.weights.push_back(mass * first * first);
  }
  return rule;
}

}  // namespace

GaussRule gauss_legendre(int n) {
  return golub_welsch(
      n, 2.0, [](int) { return 0.0; }, [](int k) { return k / std::sqrt(4.0 * k * k - 1.0); });
}

GaussRule gauss_hermite(int n) {
  return golub_welsch(
      n, 1.0, [](int) { return 0.0; }, [](int k) { return std::sqrt(static_cast<double>(k)); });
}

}  // namespace qksolve::numerics
