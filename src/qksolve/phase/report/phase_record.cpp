#include "qksolve/phase/report/phase_record.hpp"

#include <algorithm>
#include <cmath>

#include "qksolve/numerics/dense.hpp"

namespace qksolve::results {

using phase::BranchSolution;

namespace {

using Eigen::MatrixXd;

struct Quantity {
  std::string name;
  double value, error;
};

// A vector of overlaps by its absolute value, several by their norm.
Quantity length(const std::string& name, const std::string& norm_name, const MatrixXd& m,
                const MatrixXd& error) {
  if (m.size() == 1) return {name, std::abs(m(0, 0)), error(0, 0)};
  const double norm = m.norm();
  return {norm_name, norm, norm > 0 ? m.cwiseAbs().cwiseProduct(error).sum() / norm : error.norm()};
}

std::vector<Quantity> invariants(const phase::Overlaps& o, const phase::Overlaps& error) {
  std::vector<Quantity> all;
  const auto rank = o.q.rows();
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(o.q);
  const auto name = [&](const char* of, Eigen::Index k) {
    return rank == 1 ? std::string(of) : std::string(of) + "_" + std::to_string(k + 1);
  };
  const auto along = [&](const MatrixXd& m, Eigen::Index k) {
    const Eigen::VectorXd v = eigen.vectors.col(rank - 1 - k);
    return v.dot(m * v);
  };
  const auto error_along = [&](const MatrixXd& m, Eigen::Index k) {
    const Eigen::VectorXd v = eigen.vectors.col(rank - 1 - k).cwiseAbs();
    return v.dot(m * v);
  };
  for (Eigen::Index k = 0; k < rank; ++k)
    all.push_back({name("q", k), std::max(0.0, along(o.q, k)), error_along(error.q, k)});
  all.push_back(length("m", "mu_norm", o.m, error.m));
  all.push_back(length("theta", "theta_norm", o.theta, error.theta));
  if (o.V.size() > 0)
    for (Eigen::Index k = 0; k < rank; ++k)
      all.push_back({name("V", k), along(o.V, k), error_along(error.V, k)});
  return all;
}

}  // namespace

void put_overlaps(Json& record, const phase::Overlaps& o, double variance, const phase::Overlaps* errors) {
  const auto factor = [&](const std::string& name) { return name[0] == 'm' ? 1.0 : variance; };
  const std::vector<Quantity> found = invariants(o, errors ? *errors : o);
  for (const Quantity& x : found) put(record, x.name, factor(x.name) * x.value);
  if (!errors) return;
  for (const Quantity& x : found) put(record, x.name + "_error", factor(x.name) * x.error);
}

Json phase_record(const BranchSolution& s, double omega, double variance,
                  const phase::Quadrature& quadrature) {
  const auto put_baseline = [&](Json& record) {
    put(record, "gen_error_linear", quadrature.linear_baseline);
    if (quadrature.linear_baseline_error > 0)
      put(record, "gen_error_linear_error", quadrature.linear_baseline_error);
  };
  Json record;
  record["alpha"] = s.alpha;
  record["omega"] = omega;
  record["branch"] = s.branch.name;
  record["status"] = phase::status_name(s.status);
  if (s.status != phase::Status::converged) record["reason"] = s.reason;
  if (s.status == phase::Status::branch_changed) {
    record["branch_found"] = s.branch_found;
    put_baseline(record);
    record["map_evaluations"] = s.map_evaluations;
    return record;
  }
  const phase::Estimate& e = s.estimate;
  if (e.overlaps.q.size() > 0) {
    put_overlaps(record, e.overlaps, variance, s.has_errors ? &e.overlaps_error : nullptr);
    put(record, "train_loss", e.train_loss);
    if (s.has_errors) put(record, "train_loss_error", e.train_loss_error);
    put(record, "gen_error", e.generalization_error);
    if (s.has_errors) put(record, "gen_error_error", e.generalization_error_error);
  }
  put_baseline(record);
  put(record, "residual", s.residual);
  record["map_evaluations"] = s.map_evaluations;
  if (s.has_jump_mass) put(record, "jump_mass", s.jump_mass);
  const auto put_uncertain = [&](const std::string& name, const std::optional<phase::Uncertain>& x) {
    if (!x) return;
    put(record, name, x->value);
    put(record, name + "_error", x->error);
  };
  put_uncertain("jacobian_spectral_radius", s.spectral_radius);
  for (const auto& [overlap, growth] : {std::pair{"theta", s.growth_theta}, std::pair{"m", s.growth_m}}) {
    put_uncertain("growth_" + std::string(overlap), growth);
    if (growth && std::abs(growth->value - 1.0) > growth->error)
      record["stable_" + std::string(overlap)] = growth->value < 1.0;
  }
  return record;
}

void mark_global_minimum(std::vector<Json>& records) {
  std::vector<Json*> present;
  for (Json& r : records) {
    if (r.at("status") == "converged")
      present.push_back(&r);
    else if (r.at("status") != "branch_changed")
      return;
  }
  if (records.size() < 2 || present.empty()) return;
  auto loss = [](const Json* r) { return r->at("train_loss").get<double>(); };
  auto error = [](const Json* r) { return r->at("train_loss_error").get<double>(); };
  const Json* best = *std::min_element(present.begin(), present.end(),
                                       [&](const Json* a, const Json* b) { return loss(a) < loss(b); });
  for (const Json* r : present)
    if (r != best && loss(r) - loss(best) <= error(r) + error(best)) return;
  for (Json* r : present) (*r)["global_minimum"] = r == best;
}

}  // namespace qksolve::results
