#include "qksolve/phase/equations/branch_overlaps.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace qksolve::phase {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Below this cosine between student and teacher (or encodings) an overlap counts as vanished.
constexpr double kVanished = 1e-3;

struct Start {
  double q, theta, m, v;  // v: in units of the estimate of V
};

double largest(const MatrixXd& m) { return m.size() == 0 ? 0.0 : m.cwiseAbs().maxCoeff(); }

}  // namespace

std::vector<Branch> all_branches(int rank) {
  std::vector<Branch> all{kSemantic, kPositional, kUninformed};
  if (rank > 1) all.push_back(kMixed);
  return all;
}

Branch branch_named(const std::string& name) {
  for (const Branch& branch : {kSemantic, kPositional, kUninformed, kMixed})
    if (branch.name == name) return branch;
  throw std::invalid_argument("no branch is called '" + name + "'");
}

Layout::Layout(const Model& model, const Branch& branch) {
  if (branch.m) m_columns = std::min(model.directions(), model.rank);
  if (branch.theta) {
    if (m_columns == model.rank && model.rank > 1) --m_columns;
    theta_first = model.rank > m_columns ? m_columns : 0;
    theta_columns = std::min(model.teacher_rank, model.rank - theta_first);
  }
}

Coordinates::Coordinates(const Model& model) {
  zero_.q = zero_.V = MatrixXd::Zero(model.rank, model.rank);
  zero_.theta = MatrixXd::Zero(model.rank, model.teacher_rank);
  zero_.m = MatrixXd::Zero(model.rank, model.directions());
  for (const auto symmetric : {&Overlaps::q, &Overlaps::V})
    for (Eigen::Index j = 0; j < model.rank; ++j)
      for (Eigen::Index i = 0; i <= j; ++i) entries_.push_back({symmetric, i, j});
  for (const auto whole : {&Overlaps::theta, &Overlaps::m})
    for (Eigen::Index j = 0; j < (zero_.*whole).cols(); ++j)
      for (Eigen::Index i = 0; i < model.rank; ++i) entries_.push_back({whole, i, j});
}

Coordinates::Coordinates(const Model& model, const Branch& branch) : Coordinates(model) {
  const Layout layout(model, branch);
  const auto off = [&](const Entry& e) {
    if (e.of == &Overlaps::m) return e.row >= layout.m_columns || (layout.m_columns > 1 && e.row > e.column);
    if (e.of == &Overlaps::theta)
      return layout.theta_columns == 0 || e.column >= layout.theta_columns ||
             e.row != layout.theta_first + e.column;
    return e.row != e.column && e.column >= layout.m_columns;
  };
  std::erase_if(entries_, off);
}

VectorXd Coordinates::pack(const Overlaps& o) const {
  VectorXd x(size());
  for (Eigen::Index k = 0; k < size(); ++k) x[k] = (o.*entry(k).of)(entry(k).row, entry(k).column);
  return x;
}

Overlaps Coordinates::unpack(const VectorXd& x) const {
  Overlaps o = zero_;
  for (Eigen::Index k = 0; k < size(); ++k) (o.*entry(k).of)(entry(k).row, entry(k).column) = x[k];
  o.q = MatrixXd(o.q.selfadjointView<Eigen::Upper>());
  o.V = MatrixXd(o.V.selfadjointView<Eigen::Upper>());
  return o;
}

VectorXd Coordinates::scale(const VectorXd& x) const {
  const Overlaps o = unpack(x);
  const double floor = kVanished * std::sqrt(std::abs(o.q.trace()));
  VectorXd scales = x.cwiseAbs();
  for (Eigen::Index k = 0; k < size(); ++k) {
    const Entry& e = entry(k);
    const MatrixXd& values = o.*e.of;
    if (e.of == &Overlaps::theta || e.of == &Overlaps::m)
      scales[k] = std::max(scales[k], floor);
    else if (e.row != e.column)
      scales[k] = std::sqrt(std::abs(values(e.row, e.row) * values(e.column, e.column)));
  }
  return scales.cwiseMax(1e-300);
}

std::vector<Overlaps> default_starts(const Model& model, double alpha, const Branch& branch) {
  // V = 1/(lambda + Vhat), where Vhat is alpha sigma^4 times the mean curvature of the loss, about a tenth.
  const double variance = model.sigma.cwiseAbs2().mean();
  const double V = 1.0 / (model.lambda + 0.1 * alpha * variance * variance);
  const Layout layout(model, branch);
  std::vector<Overlaps> starts;
  for (const Start& s :
       {Start{0.45, 0.6, 0.25, 1.0}, Start{1.0, 0.95, 0.5, 0.2}, Start{0.2, 0.4, 0.15, 0.04}}) {
    Overlaps o;
    o.q = s.q * MatrixXd::Identity(model.rank, model.rank);
    o.V = s.v * V * MatrixXd::Identity(model.rank, model.rank);
    o.theta = MatrixXd::Zero(model.rank, model.teacher_rank);
    o.m = MatrixXd::Zero(model.rank, model.directions());
    for (int k = 0; k < layout.theta_columns; ++k) o.theta(layout.theta_first + k, k) = s.theta;
    // Columns that carry an encoding, and nothing of the teacher, are shorter.
    for (int k = 0; k < layout.m_columns; ++k) {
      o.m(k, k) = s.m;
      if (layout.theta_columns == 0 || k < layout.theta_first) o.q(k, k) = 0.2 + 0.25 * (s.q - 0.2);
    }
    starts.push_back(o);
  }
  return starts;
}

Branch identify(const Overlaps& o) {
  const double norm = std::sqrt(o.q.trace());
  const bool theta = largest(o.theta) > kVanished * norm, m = largest(o.m) > kVanished * norm;
  if (theta) return m ? kMixed : kSemantic;
  return m ? kPositional : kUninformed;
}

Branch branch_ahead(const Overlaps& o, const Overlaps& next) {
  const double small = 0.03 * std::sqrt(o.q.trace());
  Overlaps ahead = o;
  for (const auto overlap : {&Overlaps::theta, &Overlaps::m}) {
    const double now = largest(o.*overlap);
    if (now < small && largest(next.*overlap) < 0.8 * now) (ahead.*overlap).setZero();
  }
  return identify(ahead);
}

}  // namespace qksolve::phase
