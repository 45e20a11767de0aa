#include "qksolve/numerics/singular_values.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "qksolve/numerics/dense.hpp"

namespace qksolve::numerics {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kBlock = 8, kLeastBlocks = 32, kMostBlocks = 64, kCheckEvery = 4;
constexpr double kConverged = 1e-6;

// exp of the entropy of s_i/sum s, from sum s and sum s log s.
double effective_rank(double sum, double sum_log) { return std::exp(std::log(sum) - sum_log / sum); }

double times_log(double s) { return s > 0 ? s * std::log(s) : 0; }

SpectrumSummary full_spectrum(const MatrixXd& A) {
  const VectorXd s = singular_values(A);
  SpectrumSummary summary;
  summary.first = s[0];
  summary.second = s[1];
  summary.effective_rank = effective_rank(s.sum(), s.unaryExpr(&times_log).sum());
  return summary;
}

// X = Q R with the columns of Q orthonormal, and orthogonal to those of `basis`, up to what lies in their
// span. Twice, since the remainder may be small.
MatrixXd orthonormalize(MatrixXd& X, const MatrixXd& basis) {
  MatrixXd R = MatrixXd::Identity(X.cols(), X.cols());
  for (int pass = 0; pass < 2; ++pass) {
    if (basis.cols() > 0) X -= basis * (basis.transpose() * X).eval();
    const Qr qr = householder_qr(X);
    R = qr.R * R;
    X = qr.Q;
  }
  return R;
}

struct Ritz {
  VectorXd values;     // descending
  VectorXd weights;    // of each in the random columns: |first block of its right vector|^2
  VectorXd residuals;  // |A' u - s v|: bounds the distance to a singular value
};

// `B` is block bidiagonal; the next off-diagonal block is `next`.
Ritz ritz_values(const MatrixXd& B, const MatrixXd& next) {
  const Svd found = svd(B);
  return {found.values, found.V.topRows(kBlock).colwise().squaredNorm().transpose(),
          (next * found.U.bottomRows(kBlock)).colwise().norm().transpose()};
}

struct Quadrature {
  double effective_rank, spread;  // with its relative uncertainty from the random columns
};
Quadrature quadrature(const Ritz& ritz, double size) {
  double exact = 0, exact_log = 0, exact_weight = 0, mean = 0, mean_log = 0, square = 0;
  Index converged = 0;
  for (Index i = 0; i < ritz.values.size(); ++i) {
    const double s = ritz.values[i], weight = ritz.weights[i];
    if (ritz.residuals[i] <= kConverged * s) {
      ++converged;
      exact += s;
      exact_log += times_log(s);
      exact_weight += weight;
    } else {
      mean += weight * s;
      mean_log += weight * times_log(s);
      square += weight * s * s;
    }
  }
  const double weight = static_cast<double>(kBlock) - exact_weight;
  if (!(weight > 0)) return {effective_rank(exact, exact_log), 0};
  const double per_weight = (size - static_cast<double>(converged)) / weight;
  const double sum = exact + per_weight * mean;
  // A Gaussian column estimates a trace of M with variance 2 |M|_F^2.
  const double spread = std::sqrt(2 * per_weight * square / static_cast<double>(kBlock)) / sum;
  return {effective_rank(sum, exact_log + per_weight * mean_log), spread};
}

SpectrumSummary lanczos_spectrum(const MatrixXd& A, const RandomStream& stream,
                                 const Interrupt& interrupted) {
  const Index n = A.rows(), most = std::min(kMostBlocks, n / kBlock - 1);
  MatrixXd V(n, most * kBlock), U(n, most * kBlock), B = MatrixXd::Zero(most * kBlock, most * kBlock);
  MatrixXd X(n, kBlock);
  for (Index j = 0; j < kBlock; ++j)
    fill_normals(stream, static_cast<std::uint64_t>(j), X.col(j).data(), static_cast<std::size_t>(n));
  orthonormalize(X, MatrixXd(n, 0));
  SpectrumSummary summary;
  for (Index block = 0; block < most; ++block) {
    const Index at = block * kBlock, used = at + kBlock;
    V.middleCols(at, kBlock) = X;
    throw_if(interrupted);
    MatrixXd Y = A * X;
    throw_if(interrupted);
    B.block(at, at, kBlock, kBlock) = orthonormalize(Y, U.leftCols(at));
    U.middleCols(at, kBlock) = Y;
    X.noalias() = A.transpose() * Y;
    const MatrixXd next = orthonormalize(X, V.leftCols(used));
    const bool last = used == most * kBlock;
    if (!last) B.block(at, used, kBlock, kBlock) = next.transpose();
    if (!last && (block + 1 < kLeastBlocks || (block + 1) % kCheckEvery != 0)) continue;

    const Ritz ritz = ritz_values(B.topLeftCorner(used, used), next);
    summary.first = ritz.values[0];
    summary.second = ritz.values[1];
    summary.leading_error = ritz.residuals.head(2).maxCoeff();
    if (!last && !(ritz.residuals[1] <= kConverged * ritz.values[1])) continue;
    const Quadrature whole = quadrature(ritz, static_cast<double>(n));
    // With half as many blocks the truncation is four times as large: singular values are spread over an
    // interval down to zero, where s is not smooth in s^2.
    const Index half = (block + 1) / 2 * kBlock;
    const Quadrature coarse = quadrature(
        ritz_values(B.topLeftCorner(half, half), B.block(half - kBlock, half, kBlock, kBlock).transpose()),
        static_cast<double>(n));
    const double truncation = (whole.effective_rank - coarse.effective_rank) / 3;
    summary.effective_rank = whole.effective_rank + truncation;
    summary.effective_rank_truncation = std::abs(truncation);
    summary.effective_rank_spread = whole.effective_rank * whole.spread;
    break;
  }
  return summary;
}

}  // namespace

SpectrumSummary summarize_spectrum(const MatrixXd& A, const RandomStream& stream, Index full_up_to,
                                   const Interrupt& interrupted) {
  if (A.rows() != A.cols() || A.rows() < 2)
    throw std::invalid_argument("a spectrum needs a square matrix, n >= 2");
  if (A.rows() <= full_up_to || A.rows() < 4 * kBlock) return full_spectrum(A);
  return lanczos_spectrum(A, stream, interrupted);
}

}  // namespace qksolve::numerics
