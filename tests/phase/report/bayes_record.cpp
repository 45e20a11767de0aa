// The Bayes-optimal limit beside other learners.
#include "qksolve/phase/report/bayes_record.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "qksolve/phase/report/phase_record.hpp"
#include "qksolve/phase/two_token/jump_quadrature.hpp"

using namespace qksolve;
using namespace qksolve::phase;
using results::Json;

TEST_CASE("errors of the limit scale with (1 - omega)^2, and a record that misses its tolerance says so") {
  const bayes::Solution solution = bayes::solve(2, 0.4);
  const results::BayesPoint point{0.4, solution, {0.002, 1e-7}, {0.004, 1e-7}};
  const Json at_zero = results::bayes_record(point, 0, 1e-3),
             at_half = results::bayes_record(point, 0.5, 1e-3);
  CHECK(at_half["gen_error"].get<double>() == doctest::Approx(0.25 * at_zero["gen_error"].get<double>()));
  CHECK(at_half["q"] == at_zero["q"]);
  CHECK(at_zero["status"] == "converged");
  const Json missed = results::bayes_record(point, 0, 1e-5);
  CHECK(missed["status"] == "failed");
  CHECK(missed["reason"].get<std::string>().find("gen_error") != std::string::npos);
}

TEST_CASE("efficiency: the share of samples with which the limit has the same error") {
  const Json parameters{{"alpha", {0.4, 2.0}}, {"sigma", 0.5}, {"tolerance", 1e-4}, {"seed", 0}};
  const results::BesideBayes beside(parameters);
  // The limit itself is efficient; without knowledge no samples are needed.
  const bayes::Predictor predictor(Eigen::VectorXd::Constant(2, 0.5), 1e-8, 0);
  const double scale = 0.49, best = scale * predictor(bayes::solve(2, 0.4).state).error;
  Json record{
      {"alpha", 0.4}, {"omega", 0.3}, {"status", "converged"}, {"gen_error", best}, {"gen_error_error", 0.0}};
  beside.add_to(record);
  CHECK(record["gen_error_bayes"].get<double>() == doctest::Approx(best).epsilon(1e-8));
  CHECK(record["efficiency"].get<double>() == doctest::Approx(1).epsilon(1e-7));
  Json ignorant = record;
  ignorant["gen_error"] = scale * predictor({0, 1}).error * 1.01;
  beside.add_to(ignorant);
  CHECK(ignorant["efficiency"] == 0);
  // At omega = 1 there is no limit.
  Json positional = record;
  positional.erase("gen_error_bayes");
  positional["omega"] = 1.0;
  beside.add_to(positional);
  CHECK_FALSE(positional.contains("gen_error_bayes"));
  CHECK(beside.lines(1).empty());
  CHECK(beside.lines(0.3).size() == 2);
}

TEST_CASE("no minimum of the empirical risk predicts better than the limit" * doctest::test_suite("slow")) {
  std::mt19937_64 random(7);
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  int compared = 0, learnt = 0, absent = 0;
  for (int i = 0; i < 200; ++i) {
    Model model;
    model.omega = between(0, 0.9);
    model.sigma.setConstant(between(0.3, 1));
    model.lambda = std::exp(between(std::log(1e-3), 0));
    const double alpha = std::exp(between(std::log(0.05), std::log(2)));
    const Branch branch = all_branches(1)[static_cast<std::size_t>(i % 3)];
    SolveOptions options;
    options.tolerance = 1e-2;
    options.stability = false;
    const BranchSolution found = BranchSolver(model, jump_quadrature(model, 1), options).solve(alpha, branch);
    absent += found.status == Status::branch_changed;
    if (found.status != Status::converged) continue;
    const bayes::State state = bayes::solve(2, alpha).state;
    const bayes::Prediction best = bayes::Predictor(model.sigma, 1e-6, 0)(state);
    const double scale = (1 - model.omega) * (1 - model.omega);
    CAPTURE(alpha);
    CAPTURE(model.omega);
    CAPTURE(branch.name);
    CHECK(found.estimate.generalization_error + found.estimate.generalization_error_error >=
          scale * (best.error - best.uncertainty));
    ++compared;
    learnt += state.q > 0 && state.q < 1;
  }
  // The others have no such branch, but for few.
  CHECK(compared + absent > 190);
  CHECK(compared > 50);
  CHECK(learnt > 10);
}
