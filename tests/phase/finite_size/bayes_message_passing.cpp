// Bayes-optimal message passing follows the scalar recursion, and finds the teacher where theory says so.
#include "qksolve/phase/finite_size/bayes_message_passing.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "qksolve/numerics/statistics.hpp"
#include "qksolve/phase/equations/bayes_optimal/state_evolution.hpp"

using namespace qksolve;
using namespace qksolve::phase;

TEST_CASE("from an informed start the overlap follows the scalar recursion") {
  constexpr int kInstances = 16, kSteps = 8;
  constexpr double kAlpha = 0.4, kStart = 0.1;
  for (const int L : {2, 3}) {
    Model model;
    model.tokens = L;
    model.omega = 0.2;
    model.sigma = Eigen::VectorXd::LinSpaced(L, 0.3, 0.7);
    model.teacher_matrix = Eigen::MatrixXd::Constant(L, L, 1.0 / L);
    model.positional_matrix = Eigen::VectorXd::LinSpaced(L, 1, -1);
    const double alpha = kAlpha * 2 / L;
    Eigen::MatrixXd q(kInstances, kSteps + 1), mse = q, V = q;
    for (int i = 0; i < kInstances; ++i) {
      const FiniteSize<double> instance(model, {3, i, 600, sample_count(alpha, 600)});
      bayes_message_passing(instance, informed_start(instance, kStart), kSteps, 0, [&](const BayesPoint& at) {
        q(i, at.iteration) = at.q;
        mse(i, at.iteration) = at.mse;
        V(i, at.iteration) = at.variance;
        return true;
      });
    }
    const bayes::SignChannel channel(L);
    bayes::State state{kStart, 1 - kStart};
    for (int t = 1; t <= kSteps; ++t) {
      state = bayes::step(channel, alpha, state);
      CAPTURE(L);
      CAPTURE(t);
      for (const auto& [measured, expected] :
           {std::pair{&q, state.q}, std::pair{&mse, state.mse}, std::pair{&V, state.mse}}) {
        const auto found = numerics::mean_estimate(measured->col(t));
        CHECK(std::abs(found.mean - expected) < 4 * *found.error);
      }
    }
  }
}

TEST_CASE("at twice as many samples as the threshold the teacher is found from a random start") {
  const FiniteSize<double> instance(Model{}, {0, 0, 400, 400});
  const BayesRun run = bayes_message_passing(instance, random_start(instance), 300, 1e-8);
  CHECK(run.status == BayesRunStatus::converged);
  CHECK(run.end.mse < 1e-10);
  CHECK(run.end.q == doctest::Approx(instance.teacher().squaredNorm() / 400).epsilon(1e-6));
}

TEST_CASE("message passing refuses teachers whose labels are not known up to a sign") {
  Model model;
  model.omega = 1;
  const FiniteSize<double> instance(model, {0, 0, 10, 10});
  CHECK_THROWS_AS(bayes_message_passing(instance, random_start(instance), 1, 0), std::invalid_argument);
}
