#include "qksolve/phase/equations/stability.hpp"

#include <algorithm>
#include <cmath>

#include "qksolve/numerics/dense.hpp"

namespace qksolve::phase {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

// Steps of the derivatives in units of the scales; those of a randomised rule's map see its discontinuities.
constexpr double kStep = 2e-3, kNoisyStep = 1e-2;

}  // namespace

MatrixXd without_rotations(const Coordinates& all, const Overlaps& o, const VectorXd& scale, MatrixXd j) {
  std::vector<VectorXd> tangents;
  const auto generator = [](Eigen::Index n, Eigen::Index a, Eigen::Index b) {
    MatrixXd k = MatrixXd::Zero(n, n);
    k(a, b) = 1.0;
    k(b, a) = -1.0;
    return k;
  };
  for (Eigen::Index b = 1; b < o.q.rows(); ++b)
    for (Eigen::Index a = 0; a < b; ++a) {
      const MatrixXd k = generator(o.q.rows(), a, b);
      tangents.push_back(
          all.pack({o.q * k - k * o.q, k.transpose() * o.theta, k.transpose() * o.m, o.V * k - k * o.V}));
    }
  for (Eigen::Index b = 1; b < o.theta.cols(); ++b)
    for (Eigen::Index a = 0; a < b; ++a)
      tangents.push_back(
          all.pack({MatrixXd::Zero(o.q.rows(), o.q.rows()), o.theta * generator(o.theta.cols(), a, b),
                    MatrixXd::Zero(o.m.rows(), o.m.cols()), MatrixXd::Zero(o.q.rows(), o.q.rows())}));
  if (tangents.empty()) return j;
  // Gram-Schmidt in units of the scales; rotations that move nothing drop out.
  j = scale.cwiseInverse().asDiagonal() * j * scale.asDiagonal();
  std::vector<VectorXd> basis;
  for (VectorXd t : tangents) {
    t = t.cwiseQuotient(scale);
    for (const VectorXd& e : basis) t -= e.dot(t) * e;
    if (t.norm() > 1e-6) basis.push_back(t.normalized());
  }
  const MatrixXd identity = MatrixXd::Identity(j.rows(), j.cols());
  for (const VectorXd& e : basis) {
    const MatrixXd p = identity - e * e.transpose();
    j = p * j * p;
  }
  return j;
}

Vector3d spectrum(const Coordinates& all, const Branch& branch, const MatrixXd& j) {
  const auto growth = [&](bool with_theta, bool with_m, bool with_rest) {
    std::vector<Eigen::Index> kept;
    for (Eigen::Index i = 0; i < j.rows(); ++i)
      if (all.is_theta(i) ? with_theta : all.is_m(i) ? with_m : with_rest) kept.push_back(i);
    return numerics::eigenvalues(j(kept, kept)).real().maxCoeff();
  };
  return {numerics::eigenvalues(j).cwiseAbs().maxCoeff(),
          growth(true, branch.theta && branch.m, branch.theta),
          growth(branch.theta && branch.m, true, branch.m)};
}

SpectrumEstimate jackknife_spectrum(const Coordinates& all, const Branch& branch,
                                    const std::vector<MatrixXd>& jacobians) {
  const double n = static_cast<double>(jacobians.size());
  MatrixXd sum = MatrixXd::Zero(all.size(), all.size());
  for (const MatrixXd& j : jacobians) sum += j;
  std::vector<Vector3d> without_one;
  without_one.reserve(jacobians.size());
  Vector3d mean = Vector3d::Zero(), square = mean;
  for (const MatrixXd& j : jacobians) without_one.push_back(spectrum(all, branch, (sum - j) / (n - 1.0)));
  for (const Vector3d& s : without_one) mean += s / n;
  for (const Vector3d& s : without_one) square += (s - mean).cwiseAbs2() * ((n - 1.0) / n);
  return {spectrum(all, branch, sum / n), 3.0 * square.cwiseSqrt()};
}

std::optional<SpectrumEstimate> estimate_spectrum(BranchMap& map, const BranchSolver& solver,
                                                  const Branch& branch, const Overlaps& o, int level) {
  const Coordinates all(solver.model());
  const VectorXd x = all.pack(o);
  VectorXd scale = all.scale(x);
  // A derivative in an overlap that is switched off needs a step that is not lost in the quadrature's error.
  const double norm = std::sqrt(o.q.trace());
  for (Eigen::Index i = 0; i < scale.size(); ++i)
    if (all.is_theta(i) || all.is_m(i)) scale[i] = std::max(scale[i], norm);
  // The signs of overlaps that are all zero turn with those of the teacher or of the encodings: of a rule
  // that keeps this symmetry one side of a difference tells the other.
  const auto mirrored = [&](VectorXd v) {
    for (Eigen::Index i = 0; i < v.size(); ++i)
      if ((all.is_theta(i) && !branch.theta) || (all.is_m(i) && !branch.m)) v[i] = -v[i];
    return v;
  };
  const int replicates = solver.quadrature().replicates;
  const auto jacobian = [&](int at_level, int replicate, double step) {
    VectorXd last, last_image;
    const numerics::Map evaluate = [&](const VectorXd& at, VectorXd& fx) {
      if (replicates == 1 && last.size() > 0 && mirrored(last) == at) {
        fx = mirrored(last_image);
        return true;
      }
      const bool defined = map.evaluate(all, at, at_level, replicate, fx, false);
      last = defined ? at : VectorXd();
      last_image = fx;
      return defined;
    };
    const MatrixXd j = numerics::jacobian(evaluate, x, scale, step);
    return j.size() == 0 || !j.allFinite() ? MatrixXd() : without_rotations(all, o, scale, j);
  };
  if (replicates > 1) {
    std::vector<MatrixXd> jacobians;
    for (int k = 0; k < replicates; ++k) {
      jacobians.push_back(jacobian(level, k, kNoisyStep));
      if (jacobians.back().size() == 0) return std::nullopt;
    }
    return jackknife_spectrum(all, branch, jacobians);
  }
  const MatrixXd j = jacobian(level, -1, kStep);
  const MatrixXd other = jacobian(level > 0 ? level - 1 : 1, -1, 2.0 * kStep);
  if (j.size() == 0 || other.size() == 0) return std::nullopt;
  const Vector3d value = spectrum(all, branch, j);
  return SpectrumEstimate{value, 2.0 * (value - spectrum(all, branch, other)).cwiseAbs()};
}

}  // namespace qksolve::phase
