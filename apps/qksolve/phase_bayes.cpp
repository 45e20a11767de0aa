#include "phase_bayes.hpp"

#include <algorithm>
#include <ostream>

#include "cli/usage.hpp"
#include "qksolve/phase/report/bayes_record.hpp"

namespace qksolve::app {

using results::Json;

void Learner::declare(Options& options) {
  options.text(
      "learner", "erm|bayes", "erm",
      "Empirical risk minimisation, or the Bayes-optimal limit: the best that any algorithm can do",
      [this](const std::string& t) {
        if (t != "erm" && t != "bayes")
          throw UsageError("--learner: '" + t + "' is not allowed, expected one of erm, bayes");
        name = t;
      },
      [this] { return bayes() ? Json(name) : Json(); });
}

void Learner::finish(const PhaseArguments& arguments, const Options& options,
                     const std::vector<std::string>& unused) const {
  if (!bayes()) return;
  for (const std::string& option : unused)
    if (options.given(option))
      throw UsageError("--" + option + ": not used by the learner bayes, expected with --learner erm");
  if (arguments.teacher_rank > 1)
    throw UsageError("--teacher-rank: " + std::to_string(arguments.teacher_rank) +
                     " is not allowed with --learner bayes, expected 1");
  if (std::count(arguments.omega.begin(), arguments.omega.end(), 1.0) > 0)
    throw UsageError(
        "--omega: 1 is not allowed with --learner bayes, expected less: at 1 labels say nothing of Q*, "
        "without noise at any smaller omega as much as at 0");
}

results::Result new_result(const Learner& learner, const std::vector<std::string>& unused,
                           const Options& options, const RunArguments& run, const Context& context) {
  results::Result result = new_result(options, run, context);
  if (!learner.bayes()) return result;
  for (std::string option : unused) {
    std::replace(option.begin(), option.end(), '-', '_');
    result.parameters.erase(option);
  }
  return result;
}

void solve_bayes(const PhaseArguments& arguments, const std::vector<double>& alpha, results::Result& result) {
  const phase::Model model = arguments.model(arguments.omega.front());
  const phase::bayes::Predictor predictor(model.sigma, arguments.tolerance,
                                          static_cast<std::uint64_t>(arguments.run.seed));
  const phase::bayes::Prediction baseline = predictor({0, 1});
  std::vector<results::BayesPoint> points;
  for (const double a : alpha) {
    if (interrupted()) {
      result.missing.push_back("alpha " + to_text(a));
      continue;
    }
    const phase::bayes::Solution solution = phase::bayes::solve(model.tokens, a);
    points.push_back({a, solution, solution.state.q == 0 ? baseline : predictor(solution.state), baseline});
  }
  for (const double omega : arguments.omega)
    for (const results::BayesPoint& point : points)
      result.records.push_back(results::bayes_record(point, omega, arguments.tolerance));
}

void print_bayes_table(Context& context, const std::vector<Json>& records) {
  Table table({"alpha", "omega", "learner", "q", "mse", "free_entropy", "gen_error", "status"});
  for (const Json& r : records) {
    std::vector<std::string> row{short_number(r["alpha"]), short_number(r["omega"]), r["learner"]};
    for (const std::string key : {"q", "mse", "free_entropy", "gen_error"})
      row.push_back(r.contains(key) ? with_error(r[key], r[key + "_error"]) : "infinite");
    row.push_back(r.contains("reason") ? r["reason"] : r["status"]);
    table.add(row);
  }
  table.print(context.err);
  context.err << "linear baseline, gen_error: " << short_number(records.front()["gen_error_linear"])
              << "   (q = overlap of the posterior mean with Q*, per dimension, 0 to 1; mse = 1 - q)\n";
}

}  // namespace qksolve::app
