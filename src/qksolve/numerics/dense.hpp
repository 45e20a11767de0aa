// Decompositions of dense matrices as plain functions: Eigen's templates for them are compiled once, in
// dense.cpp, where they would otherwise be in every file that uses one. Sizes must fit; nothing is thrown.
#pragma once

#include <Eigen/Core>
#include <optional>

namespace qksolve::numerics {

// A square, not singular: A^-1 b, A^-1 B and A^-1 by LU with partial pivoting.
Eigen::VectorXd solve(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);
Eigen::MatrixXd inverse(const Eigen::MatrixXd& A);
// The same factors, L below the diagonal (its own diagonal is 1), U on and above it.
Eigen::MatrixXd lu_factors(const Eigen::MatrixXd& A);

// A symmetric: the lower triangular L with A = L L', nothing where A is not positive definite.
std::optional<Eigen::MatrixXd> cholesky(const Eigen::MatrixXd& A);
// tr A^-1, nothing where A is not positive definite.
std::optional<double> trace_of_inverse(const Eigen::MatrixXd& A);
// A^-1 B for a symmetric, positive semidefinite A.
Eigen::MatrixXd solve_symmetric(const Eigen::MatrixXd& A, const Eigen::MatrixXd& B);

// A = vectors diag(values) vectors', values ascending.
struct SymmetricEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};
SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& A);
// Of the symmetric tridiagonal matrix with this diagonal and this one beside it.
SymmetricEigen tridiagonal_eigen(const Eigen::VectorXd& diagonal, const Eigen::VectorXd& beside);

// Of a real square matrix, in no order.
Eigen::VectorXcd eigenvalues(const Eigen::MatrixXd& A);
struct GeneralEigen {
  Eigen::VectorXcd values;
  double condition;  // of the matrix of unit eigenvectors, |X| |X^-1| in the Frobenius norm
};
GeneralEigen general_eigen(const Eigen::MatrixXd& A);

// A = Q R, Q (rows x min(rows, columns)) with orthonormal columns, R upper trapezoidal.
struct Qr {
  Eigen::MatrixXd Q, R;
};
Qr householder_qr(const Eigen::MatrixXd& A);
// The x of few entries that minimises |A x - b|, by QR with column pivoting; pivots below `threshold` times
// the largest, or if 0 below rounding, count as zero.
Eigen::VectorXd least_squares(const Eigen::MatrixXd& A, const Eigen::VectorXd& b, double threshold = 0);

// A = U diag(values) V', values descending.
struct Svd {
  Eigen::MatrixXd U;
  Eigen::VectorXd values;
  Eigen::MatrixXd V;
};
Svd svd(const Eigen::MatrixXd& A);
Eigen::VectorXd singular_values(const Eigen::MatrixXd& A);

}  // namespace qksolve::numerics
