#include "qksolve/phase/equations/branch_map.hpp"

#include <algorithm>
#include <cmath>

#include "qksolve/numerics/dense.hpp"

namespace qksolve::phase {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Below this variance of the preactivations attention is linear in q to a part in a thousand.
constexpr double kLinear = 1e-3;
constexpr int kSettling = 40;  // evaluations in which V settles next to Q = 0

}  // namespace

BranchMap::BranchMap(const BranchSolver& solver, double alpha, const Branch& branch, int limit)
    : solver_(solver),
      alpha_(alpha),
      unit_(std::min(1.0, alpha)),
      gauged_columns_(Layout(solver.model(), branch).m_columns),
      zero_coordinates_(solver.model(), kUninformed),
      limit_(static_cast<long long>(limit) * solver.quadrature().replicates) {}

bool BranchMap::interrupted() {
  interrupted_ = interrupted_ || (solver_.interrupt() && solver_.interrupt()());
  return interrupted_;
}

int BranchMap::evaluations() const {
  const long long replicates = solver_.quadrature().replicates;
  return static_cast<int>((used_ + replicates - 1) / replicates);
}

int BranchMap::left() const { return static_cast<int>((limit_ - used_) / solver_.quadrature().replicates); }

bool BranchMap::evaluate(const Coordinates& coordinates, const VectorXd& x, int level, int replicate,
                         VectorXd& fx, bool gauge) {
  const Overlaps o = coordinates.unpack(x);
  if (!admissible(o) || o.q.trace() > largest_norm() || interrupted()) return false;
  const int cost = replicate < 0 ? solver_.quadrature().replicates : 1;
  if (used_ + cost > limit_) return false;
  used_ += cost;
  const Moments found = expectation(o, level, replicate);
  if (interrupted()) return false;  // the expectation may have been cut short
  moments_ = found;
  const auto next = update(solver_.model(), alpha_, o, moments_, solver_.options().response);
  if (!next) return false;
  fx = coordinates.pack(gauge && gauged_columns_ > 1 ? fix_gauge(*next) : *next);
  return fx.allFinite();
}

// Several encodings share columns: the rotation in which the j-th has no part in later columns than the
// j-th.
Overlaps BranchMap::fix_gauge(const Overlaps& o) const {
  const int columns = gauged_columns_;
  const numerics::Qr qr = numerics::householder_qr(o.m.topRows(columns));
  MatrixXd rotation = MatrixXd::Identity(o.q.rows(), o.q.rows());
  rotation.topLeftCorner(columns, columns) = qr.Q;
  for (int k = 0; k < columns; ++k)
    if (qr.R(k, k) < 0) rotation.col(k) *= -1.0;
  return {rotation.transpose() * o.q * rotation, rotation.transpose() * o.theta, rotation.transpose() * o.m,
          rotation.transpose() * o.V * rotation};
}

double BranchMap::preactivation(const Overlaps& o) const {
  const double sigma = solver_.model().sigma.maxCoeff();
  return sigma * sigma * o.q.trace() + o.m.squaredNorm();
}

bool BranchMap::falls_to_zero(const Overlaps& o, const Overlaps& next, int level) {
  if (collapsed(o)) return true;
  if (rises_from_zero_ || preactivation(o) > kLinear * unit_ || next.q.trace() > 0.95 * o.q.trace())
    return false;
  Overlaps small = o;
  small.theta.setZero();
  small.m.setZero();
  small.q *= 1e-12 * unit_ / preactivation(o);
  VectorXd x = zero_coordinates_.pack(small), fx(x.size());
  for (int k = 0; k < kSettling && evaluate(zero_coordinates_, x, level, -1, fx); ++k) {
    const Overlaps at = zero_coordinates_.unpack(x), image = zero_coordinates_.unpack(fx);
    if ((image.V - at.V).norm() <= 1e-3 * at.V.norm()) {
      rises_from_zero_ = image.q.trace() > at.q.trace();
      return !rises_from_zero_;
    }
    Overlaps middle = at;
    middle.V = 0.5 * (at.V + image.V);
    x = zero_coordinates_.pack(middle);
  }
  rises_from_zero_ = true;
  return false;
}

// A minimiser has a lower risk than Q = 0, which bounds its norm; the factor leaves room for other fixed
// points.
double BranchMap::largest_norm() const {
  const Model& model = solver_.model();
  const double sigma = model.sigma.maxCoeff();
  return 4.0 * alpha_ * sigma * sigma * (model.tokens - 1) / model.lambda + 2.0 * model.rank;
}

Moments BranchMap::expectation(const Overlaps& o, int level, int replicate) const {
  const Quadrature& quadrature = solver_.quadrature();
  if (replicate >= 0) return quadrature.evaluate(o, level, replicate);
  Moments mean = quadrature.evaluate(o, level, 0);
  for (int k = 1; k < quadrature.replicates; ++k) mean += quadrature.evaluate(o, level, k);
  mean *= 1.0 / quadrature.replicates;
  return mean;
}

}  // namespace qksolve::phase
