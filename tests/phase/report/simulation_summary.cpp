#include "qksolve/phase/report/simulation_summary.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "qksolve/numerics/random_normals.hpp"
#include "qksolve/phase/report/simulation_rows.hpp"

using namespace qksolve;
using namespace qksolve::results;
using Eigen::VectorXd;

namespace {

struct Experiment {
  std::vector<Json> records, controlled;
  std::vector<VectorXd> controls;

  void add(double alpha, int d, int instance, const std::string& init, double loss, double control,
           const std::string& status = "converged") {
    Json record{{"alpha", alpha},
                {"omega", 0.3},
                {"d", d},
                {"seed", 0},
                {"init", init},
                {"instance", instance},
                {"optimizer", "lbfgs"},
                {"status", status},
                {"train_loss", loss},
                {"train_loss_limit", loss}};
    records.push_back(record);
    controlled.push_back({{"train_loss", loss}, {"train_loss_limit", loss}});
    controls.push_back(VectorXd::Constant(1, control));
  }
  Json summary() const { return summarize_simulation(records, controls, controlled); }
};

// A difference of slope 2 in alpha that crosses zero at 1.2 + 3/d; noise shared by both starts, noise that
// the control explains, and a little that nothing explains.
Experiment two_branches(const std::vector<int>& dimensions, int instances) {
  Experiment experiment;
  for (const int d : dimensions)
    for (int i = 0; i < instances; ++i) {
      VectorXd noise(4);
      numerics::fill_normals({7, static_cast<std::uint64_t>(d), static_cast<std::uint64_t>(i), 0}, 0,
                             noise.data(), 4);
      for (const double alpha : {1.0, 1.5}) {
        const double common = 1 + noise[0], difference = 2 * (alpha - 1.2 - 3.0 / d) + 0.1 * noise[1];
        experiment.add(alpha, d, i, "semantic", common, noise[1]);
        experiment.add(alpha, d, i, "positional", common + difference + 0.01 * noise[2], noise[1]);
      }
    }
  return experiment;
}

}  // namespace

TEST_CASE("differences are paired by instance and use the control variates") {
  const Json summary = two_branches({100}, 30).summary();
  REQUIRE(summary["differences"].size() == 2);
  const Json& row = summary["differences"][0];
  CHECK(row["count"] == 30);
  CHECK(row["alpha"] == 1.0);
  const double error = row["train_loss_difference_error"],
               controlled = row["train_loss_difference_controlled_error"];
  CHECK(error < 0.2 / std::sqrt(30));  // the common noise of size 1 drops out
  CHECK(controlled < 0.03 / std::sqrt(30));
  CHECK(std::abs(row["train_loss_difference_controlled"].get<double>() - 2 * (1 - 1.23)) < 4 * controlled);
}

TEST_CASE("crossings lie where the difference changes sign, at every d and extrapolated") {
  const Json summary = two_branches({100, 200, 400}, 30).summary();
  const Json& rows = summary["crossings"];
  REQUIRE(rows.size() == 4);
  for (const Json& row : rows) {
    const double exact = row.contains("d") ? 1.2 + 3.0 / row["d"].get<double>() : 1.2;
    const double error = row["alpha_crossing_error"];
    CAPTURE(row.dump());
    CHECK(error > 0);
    CHECK(error < 0.01);
    CHECK(std::abs(row["alpha_crossing"].get<double>() - exact) < 4 * error);
  }
  CHECK(!two_branches({100}, 1).summary()["crossings"][0].contains("alpha_crossing_error"));
}

TEST_CASE("runs on another branch, or blown up, are counted and not averaged") {
  Experiment experiment;
  for (int i = 0; i < 4; ++i) {
    experiment.add(1, 100, i, "semantic", 1.0, 0);
    experiment.add(1, 100, i, "positional", 2.0, 0,
                   i == 0   ? "branch_changed"
                   : i == 1 ? "non_finite"
                            : "converged");
  }
  const Json summary = experiment.summary();
  CHECK(summary["groups"][0]["count"] == 4);
  CHECK(!summary["groups"][0].contains("branch_changed"));
  CHECK(summary["groups"][1]["count"] == 2);
  CHECK(summary["groups"][1]["branch_changed"] == 1);
  CHECK(summary["differences"][0]["count"] == 2);
  CHECK(!summary.contains("crossings"));
}

TEST_CASE("a converged run that clearly left the branch of its start says so") {
  phase::Run run;
  run.init = phase::Init::positional;
  run.status = numerics::MinimizerStatus::converged;
  auto matrix = [](double value) { return Eigen::MatrixXd::Constant(1, 1, value); };
  auto status = [&](double theta, double m, int d) {
    run.overlaps = {matrix(1), matrix(theta), matrix(m), {}};
    run.branch_found = phase::branch_of(run.overlaps, 1.0, d);
    return simulation_rows(phase::Model{}, 2, {0, 0, d, 2 * d}, "lbfgs", {VectorXd(), {run}})
        .records[0]["status"]
        .get<std::string>();
  };
  CHECK(status(0.9, 0.05, 1000) == "branch_changed");
  CHECK(status(-0.9, 0.05, 1000) == "branch_changed");
  CHECK(status(0.05, 0.6, 1000) == "converged");
  CHECK(status(0.5, 0.45, 1000) == "converged");  // cannot be told: 4/sqrt(d) = .13
  CHECK(status(0.6, 0.05, 20) == "converged");
  CHECK(phase::branch_of(run.overlaps, 1.0, 20) == std::nullopt);
}

TEST_CASE("at rank two a run belongs to the branch of the overlaps it has") {
  using qksolve::phase::Init;
  qksolve::phase::Overlaps o{
      0.3 * Eigen::Matrix2d::Identity(), Eigen::MatrixXd::Zero(2, 1), Eigen::MatrixXd::Zero(2, 1), {}};
  const auto branch = [&] { return qksolve::phase::branch_of(o, 1.0, 1000); };
  CHECK(branch() == std::nullopt);
  o.theta(1, 0) = 0.4;
  CHECK(branch() == Init::semantic);
  o.m(0, 0) = 0.3;
  CHECK(branch() == Init::mixed);
  o.theta(1, 0) = 0.02;
  CHECK(branch() == Init::positional);
  // Of 20 dimensions a random direction has that much.
  CHECK(qksolve::phase::branch_of(o, 1.0, 20) == std::nullopt);
}
