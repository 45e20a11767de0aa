#include "qksolve/numerics/dense.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>

namespace qksolve::numerics {

using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd solve(const MatrixXd& A, const VectorXd& b) { return A.partialPivLu().solve(b); }

MatrixXd inverse(const MatrixXd& A) { return A.partialPivLu().inverse(); }

MatrixXd lu_factors(const MatrixXd& A) { return A.partialPivLu().matrixLU(); }

std::optional<MatrixXd> cholesky(const MatrixXd& A) {
  const Eigen::LLT<MatrixXd> factor(A);
  if (factor.info() != Eigen::Success) return std::nullopt;
  return MatrixXd(factor.matrixL());
}

std::optional<double> trace_of_inverse(const MatrixXd& A) {
  const Eigen::LLT<MatrixXd> factor(A);
  if (factor.info() != Eigen::Success) return std::nullopt;
  return factor.matrixL().solve(MatrixXd::Identity(A.rows(), A.cols())).squaredNorm();
}

MatrixXd solve_symmetric(const MatrixXd& A, const MatrixXd& B) { return A.ldlt().solve(B); }

SymmetricEigen symmetric_eigen(const MatrixXd& A) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(A);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

SymmetricEigen tridiagonal_eigen(const VectorXd& diagonal, const VectorXd& beside) {
  Eigen::SelfAdjointEigenSolver<MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, beside);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

Eigen::VectorXcd eigenvalues(const MatrixXd& A) {
  return Eigen::EigenSolver<MatrixXd>(A, false).eigenvalues();
}

GeneralEigen general_eigen(const MatrixXd& A) {
  const Eigen::EigenSolver<MatrixXd> solver(A);
  const Eigen::MatrixXcd vectors = solver.eigenvectors();
  return {solver.eigenvalues(), vectors.norm() * vectors.partialPivLu().inverse().norm()};
}

Qr householder_qr(const MatrixXd& A) {
  const Eigen::HouseholderQR<MatrixXd> qr(A);
  const Eigen::Index size = std::min(A.rows(), A.cols());
  return {qr.householderQ() * MatrixXd::Identity(A.rows(), size),
          qr.matrixQR().topRows(size).triangularView<Eigen::Upper>()};
}

VectorXd least_squares(const MatrixXd& A, const VectorXd& b, double threshold) {
  Eigen::ColPivHouseholderQR<MatrixXd> qr(A);
  if (threshold > 0) qr.setThreshold(threshold);
  return qr.solve(b);
}

Svd svd(const MatrixXd& A) {
  const Eigen::BDCSVD<MatrixXd> found(A, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return {found.matrixU(), found.singularValues(), found.matrixV()};
}

VectorXd singular_values(const MatrixXd& A) { return Eigen::BDCSVD<MatrixXd>(A).singularValues(); }

}  // namespace qksolve::numerics
