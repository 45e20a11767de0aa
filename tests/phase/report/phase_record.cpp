// Records of the state evolution.
#include "qksolve/phase/report/phase_record.hpp"

#include <doctest/doctest.h>

using namespace qksolve::results;

TEST_CASE("the global minimum is named only when the energies differ by more than their errors") {
  auto record = [](const char* status, double loss, double error) {
    return Json{{"status", status}, {"train_loss", loss}, {"train_loss_error", error}};
  };
  auto marks = [](std::vector<Json> records) {
    mark_global_minimum(records);
    std::string found;
    for (const Json& r : records)
      found += !r.contains("global_minimum") ? '-' : r["global_minimum"] ? 'y' : 'n';
    return found;
  };
  CHECK(marks({record("converged", 1.0, 0.02), record("converged", 1.1, 0.03)}) == "yn");
  CHECK(marks({record("converged", 1.0, 0.02), record("converged", 1.1, 0.09)}) == "--");
  // The second lowest is well apart, the highest is not because of its own error.
  CHECK(marks({record("converged", 1.0, 0.02), record("converged", 1.1, 0.03),
               record("converged", 1.2, 0.3)}) == "---");
  CHECK(marks({record("converged", 1.0, 0.02), Json{{"status", "branch_changed"}}}) == "y-");
  CHECK(marks({record("converged", 1.0, 0.02), Json{{"status", "iteration_limit"}}}) == "--");
}

TEST_CASE("a label of stability is absent where 1 lies within the error of the growth rate") {
  qksolve::phase::BranchSolution s;
  s.status = qksolve::phase::Status::converged;
  s.spectral_radius = qksolve::phase::Uncertain{1.2, 0.3};
  s.growth_theta = qksolve::phase::Uncertain{1.2, 0.3};
  s.growth_m = qksolve::phase::Uncertain{1.2, 0.1};
  const qksolve::results::Json record = qksolve::results::phase_record(s, 0.3, 0.25, {});
  CHECK_FALSE(record.contains("stable_theta"));
  CHECK(record.at("stable_m") == false);
  CHECK(record.at("growth_theta_error") == 0.3);
  CHECK(record.at("jacobian_spectral_radius_error") == 0.3);
}
