#include "qksolve/phase/report/bayes_simulation.hpp"

#include "qksolve/phase/equations/bayes_optimal/state_evolution.hpp"
#include "qksolve/phase/finite_size/bayes_message_passing.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::results {

namespace {

void put_point(Json& row, const phase::BayesPoint& point) {
  put(row, "q", point.q);
  put(row, "mse", point.mse);
  put(row, "V", point.variance);
}

void put_status(Json& record, phase::BayesRunStatus status) {
  switch (status) {
    case phase::BayesRunStatus::converged:
      record["status"] = "converged";
      break;
    case phase::BayesRunStatus::iteration_limit:
      record["status"] = "iteration_limit";
      record["reason"] = "a step is above the tolerance after the steps allowed";
      break;
    case phase::BayesRunStatus::non_finite:
      record["status"] = "non_finite";
      record["reason"] = "the estimate grew without bound; the last good step is reported";
      break;
  }
}

}  // namespace

SimulationRows bayes_simulation_rows(const phase::Model& model, double alpha, const phase::Draw& draw,
                                     const BayesSimulation& options, const numerics::Interrupt& interrupted) {
  const phase::FiniteSize<double> instance(model, draw);
  SimulationRows rows;
  for (const std::string& init : options.inits) {
    Json record = run_coordinates(model, alpha, draw, init, "bayes-amp");
    const auto observe = [&](const phase::BayesPoint& point) {
      if (options.trajectory) {
        rows.trace.push_back(record);
        rows.trace.back()["iteration"] = point.iteration;
        put_point(rows.trace.back(), point);
      }
      numerics::throw_if(interrupted);
      return true;
    };
    const phase::BayesRun run = phase::bayes_message_passing(
        instance,
        init == "informed" ? phase::informed_start(instance, options.start_overlap)
                           : phase::random_start(instance),
        options.steps, options.tolerance, observe);
    put_status(record, run.status);
    put_point(record, run.end);
    record["iterations"] = run.end.iteration;
    put(record, "gradient_norm", run.residual);
    rows.records.push_back(record);
    rows.controlled.push_back(Json::object());
    rows.controls.emplace_back();
  }
  return rows;
}

std::vector<std::pair<Json, std::vector<Json>>> bayes_paths(int tokens, const std::vector<double>& alphas,
                                                            const std::vector<double>& omegas,
                                                            const std::vector<std::int64_t>& dimensions,
                                                            const BayesSimulation& options) {
  const phase::bayes::SignChannel channel(tokens);
  std::vector<std::pair<Json, std::vector<Json>>> paths;
  for (const double alpha : alphas) {
    std::vector<Json> path;
    phase::bayes::State state{options.start_overlap, 1 - options.start_overlap};
    for (int t = 0; t <= options.steps; ++t) {
      path.push_back({{"q", state.q}, {"mse", state.mse}, {"V", state.mse}});
      state = phase::bayes::step(channel, alpha, state);
    }
    for (const double omega : omegas)
      for (const std::int64_t d : dimensions)
        paths.push_back({{{"alpha", alpha}, {"omega", omega}, {"d", d}, {"init", "informed"}}, path});
  }
  return paths;
}

}  // namespace qksolve::results
