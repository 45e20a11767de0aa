#include "qksolve/results/phase_record.hpp"

#include <algorithm>
#include <cmath>

namespace qksolve::results {

using phase::BranchSolution;

void put_overlaps(Json& record, const phase::Overlaps& o, double variance, const std::string& suffix) {
  put(record, "q" + suffix, variance * o.q(0, 0));
  put(record, "m" + suffix, std::abs(o.m(0, 0)));
  put(record, "theta" + suffix, variance * std::abs(o.theta(0, 0)));
  put(record, "V" + suffix, variance * o.V(0, 0));
}

Json phase_record(const BranchSolution& s, double omega, double variance, double baseline) {
  Json record;
  record["alpha"] = s.alpha;
  record["omega"] = omega;
  record["branch"] = s.branch.name;
  record["status"] = phase::status_name(s.status);
  if (s.status != phase::Status::converged) record["reason"] = s.reason;
  if (s.status == phase::Status::branch_changed) {
    record["branch_found"] = s.branch_found;
    put(record, "gen_error_linear", baseline);
    record["map_evaluations"] = s.map_evaluations;
    return record;
  }
  const phase::Estimate& e = s.estimate;
  if (e.overlaps.q.size() > 0) {
    put_overlaps(record, e.overlaps, variance);
    if (s.has_errors) put_overlaps(record, e.overlaps_error, variance, "_error");
    put(record, "train_loss", e.train_loss);
    if (s.has_errors) put(record, "train_loss_error", e.train_loss_error);
    put(record, "gen_error", e.generalization_error);
    if (s.has_errors) put(record, "gen_error_error", e.generalization_error_error);
  }
  put(record, "gen_error_linear", baseline);
  put(record, "residual", s.residual);
  record["map_evaluations"] = s.map_evaluations;
  if (s.has_jump_mass) put(record, "jump_mass", s.jump_mass);
  put(record, "jacobian_spectral_radius", s.spectral_radius);
  if (s.growth_theta) record["stable_theta"] = *s.growth_theta < 1.0;
  if (s.growth_m) record["stable_m"] = *s.growth_m < 1.0;
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
