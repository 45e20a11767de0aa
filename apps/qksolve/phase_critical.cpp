// qksolve phase critical: thresholds in alpha at given omega.
#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "phase_arguments.hpp"
#include "phase_bayes.hpp"
#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/phase/equations/thresholds.hpp"
#include "qksolve/phase/report/bayes_record.hpp"
#include "qksolve/phase/report/phase_record.hpp"

namespace qksolve::app {

namespace {

using phase::Threshold;
using phase::ThresholdStatus;
using results::Json;
using results::put;

// Options that only empirical risk minimisation has.
const std::vector<std::string> kOfErm{"between", "alpha-range"};

std::vector<std::string> all_names() {
  std::vector<std::string> names = phase::threshold_names();
  const std::vector<std::string>& of_bayes = results::bayes_threshold_names();
  names.insert(names.end(), of_bayes.begin(), of_bayes.end());
  return names;
}

struct Arguments : PhaseArguments {
  Learner learner;
  double erm_alpha = 2, noise = 0;
  std::vector<std::string> which{"alpha_c", "alpha_l"};
  std::vector<std::string> between{"semantic", "positional"};
  double alpha_low = 0.05, alpha_high = 10.0;

  Arguments() { tolerance = 1e-3; }

  void declare(Options& options) {
    options.choices("which", which, all_names(), "Thresholds to find");
    learner.declare(options);
    options.text(
        "erm-alpha", "REAL", "2", "Samples per dimension of the minimum that alpha_erm is about, > 0",
        [this](const std::string& t) { erm_alpha = parse_real("--erm-alpha", t, kPositive); },
        [this] { return learner.bayes() ? Json(erm_alpha) : Json(); });
    options.text(
        "noise", "REAL", "0",
        "Variance of label noise over d, per entry, >= 0; of alpha_weak with two tokens",
        [this](const std::string& t) {
          noise = parse_real("--noise", t, {0.0, HUGE_VAL, false, true});
        },
        [this] { return learner.bayes() ? Json(noise) : Json(); });
    options.choices("between", between, {"semantic", "positional", "uninformed", "mixed"},
                    "The two branches that exchange their order at alpha_c");
    options.range("alpha-range", alpha_low, alpha_high, kPositive, "Range of alpha that is searched");
    declare_model(options);
    declare_solver(options, "Error allowed on a threshold, relative to it");
    run.declare_presentation(options);
  }

  // Whether only alpha_weak is known of the model.
  bool weak_only() const { return noise > 0 || teacher_rank > 1; }

  void finish_bayes(const Options& options) {
    PhaseArguments of_rank_one = *this;
    of_rank_one.teacher_rank = 1;
    learner.finish(of_rank_one, options, kOfErm);
    if (!options.given("which"))
      which = weak_only() ? std::vector<std::string>{"alpha_weak"}
                          : std::vector<std::string>{"alpha_weak", "alpha_it", "alpha_algorithmic",
                                                     "alpha_linear_algebra"};
    if (!weak_only()) return;
    const std::string given =
        noise > 0 ? "--noise: '" + to_text(noise) : "--teacher-rank: '" + std::to_string(teacher_rank);
    if (which != std::vector<std::string>{"alpha_weak"})
      throw UsageError(given + "' is not allowed with these --which, expected alpha_weak only");
    const phase::Model model = this->model(omega.front());
    if (tokens != 2 || (teacher_rank > 1 && model.sigma(0) != model.sigma(1)))
      throw UsageError(given + "' is not allowed here, expected --tokens 2" +
                       (teacher_rank > 1 ? " and one --sigma" : ""));
    if (noise == 0) return;
    if (teacher_rank > 1)
      throw UsageError(given + "' is not allowed with --teacher-rank 2 or more, expected 0");
    // The least noise of the seen attention is that at the smallest omega.
    const double least =
        results::attention_noise(this->model(*std::min_element(omega.begin(), omega.end())), noise);
    if (least < results::kLeastAttentionNoise)
      throw UsageError(given + "' is not allowed, expected 0 or at least " +
                       short_number(noise * std::pow(results::kLeastAttentionNoise / least, 2)) +
                       " with this --sigma and --omega");
  }

  void finish(const Options& options) {
    PhaseArguments::finish(options);
    if (learner.bayes()) finish_bayes(options);
    const std::vector<std::string>& known =
        learner.bayes() ? results::bayes_threshold_names() : phase::threshold_names();
    for (const std::string& name : which)
      if (std::find(known.begin(), known.end(), name) == known.end())
        throw UsageError("--which: '" + name + "' is not allowed with --learner " + learner.name +
                         ", expected --learner " + (learner.bayes() ? "erm" : "bayes"));
    for (const char* of_bayes : {"erm-alpha", "noise"})
      if (!learner.bayes() && options.given(of_bayes))
        throw UsageError("--" + std::string(of_bayes) +
                         ": not used by the learner erm, expected with --learner bayes");
    if (between.size() != 2)
      throw UsageError("--between: '" + join(between, ",") + "' is not allowed, expected two branches");
    for (const std::string& name : between)
      if (name == "mixed" && rank == 1)
        throw UsageError("--between: 'mixed' is not allowed with --rank 1, expected --rank 2 or more");
  }
};

Json make_record(const Threshold& t, double omega) {
  Json record;
  record["omega"] = omega;
  record["which"] = t.which;
  switch (t.status) {
    case ThresholdStatus::converged:
      record["status"] = "converged";
      break;
    case ThresholdStatus::no_bracket:
      record["status"] = "no_bracket";
      break;
    case ThresholdStatus::failed:
      record["status"] = "failed";
      break;
  }
  if (t.status != ThresholdStatus::converged) record["reason"] = t.reason;
  put(record, "value", t.value);
  put(record, "value_error", t.error);
  if (!t.branch.empty()) record["branch"] = t.branch;
  if (!t.limit.empty()) record["limit"] = t.limit;
  put(record, "bracket_low", t.bracket_low);
  put(record, "bracket_high", t.bracket_high);
  put(record, "difference_low", t.difference_low);
  put(record, "difference_high", t.difference_high);
  return record;
}

void print_table(std::ostream& err, const std::vector<Json>& records) {
  Table table({"omega", "which", "alpha", "status"});
  for (const Json& r : records) {
    std::string status = r["status"];
    if (r.contains("branch")) status += ", on " + r["branch"].get<std::string>();
    if (r.contains("limit")) status += ", " + r["limit"].get<std::string>() + " limit";
    if (r.contains("reason")) status += ": " + r["reason"].get<std::string>();
    table.add({short_number(r["omega"]), r["which"],
               r.contains("value") ? with_error(r["value"], r.value("value_error", 0.0)) : "-", status});
  }
  table.print(err);
}

// Of all branches at one alpha.
std::vector<Json> branch_records(const Arguments& arguments, double omega) {
  const phase::Model model = arguments.model(omega);
  phase::BranchSolver solver(model, arguments.make_quadrature(model, static_cast<int>(arguments.run.threads)),
                             arguments.solve_options());
  solver.set_interrupt(interrupted);
  std::vector<Json> records;
  for (const phase::Branch& branch : phase::all_branches(model.rank)) {
    const phase::BranchSolution solution = solver.solve(arguments.erm_alpha, branch);
    numerics::throw_if(interrupted);
    records.push_back(results::phase_record(solution, omega, arguments.variance(), solver.quadrature()));
  }
  return records;
}

Json bayes_threshold(const Arguments& arguments, const std::string& which, double omega,
                     const phase::bayes::Predictor& predictor) {
  if (which == results::kAlphaErm)
    return results::bayes_erm_threshold(branch_records(arguments, omega), omega, predictor);
  if (arguments.weak_only())
    return results::bayes_weak_threshold(arguments.model(omega), arguments.noise, arguments.tolerance);
  return results::bayes_threshold(which, omega, static_cast<int>(arguments.tokens));
}

void find_bayes_thresholds(const Arguments& arguments, results::Result& result) {
  const phase::bayes::Predictor predictor(arguments.model(arguments.omega.front()).sigma, arguments.tolerance,
                                          static_cast<std::uint64_t>(arguments.run.seed));
  for (const double omega : arguments.omega)
    for (const std::string& which : arguments.which)
      if (!until_interrupt([&] {
            numerics::throw_if(interrupted);
            result.records.push_back(bayes_threshold(arguments, which, omega, predictor));
          }))
        result.missing.push_back("omega " + to_text(omega) + ", " + which);
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  results::Output output = arguments.run.open_output(context);
  results::Result result = new_result(arguments.learner, kOfErm, options, arguments.run, context);
  if (arguments.learner.bayes()) {
    find_bayes_thresholds(arguments, result);
    write_result(output, result, context);
    if (!arguments.run.quiet && !result.records.empty()) print_table(context.err, result.records);
    return exit_code(result.records);
  }

  phase::ThresholdOptions thresholds;
  thresholds.alpha_low = arguments.alpha_low;
  thresholds.alpha_high = arguments.alpha_high;
  thresholds.tolerance = arguments.tolerance;
  thresholds.solve = arguments.solve_options();
  thresholds.above = phase::branch_named(arguments.between[0]);
  thresholds.below = phase::branch_named(arguments.between[1]);
  bool all_converged = true;
  Progress progress(context, arguments.run, arguments.omega.size());
  for (const double omega : arguments.omega) {
    const bool done = until_interrupt([&] {
      const phase::Model model = arguments.model(omega);
      const auto found = phase::find_thresholds(
          model, arguments.make_quadrature(model, static_cast<int>(arguments.run.threads)), thresholds,
          arguments.which, interrupted);
      numerics::throw_if(interrupted);
      for (const Threshold& t : found) {
        result.records.push_back(make_record(t, omega));
        all_converged = all_converged && t.status == ThresholdStatus::converged;
      }
      progress.done("phase critical: omega " + short_number(omega));
    });
    if (!done) result.missing.push_back("omega " + to_text(omega));
  }
  write_result(output, result, context);
  if (!arguments.run.quiet && !result.records.empty()) print_table(context.err, result.records);
  return exit_code(all_converged);
}

}  // namespace

Command phase_critical() {
  return make_command<Arguments>(
      "phase", "critical", "Thresholds in alpha: alpha_c, alpha_l, limits of existence and of stability",
      "qksolve phase critical --omega 0:0.4:5 --which alpha_c,alpha_l -o critical.json", run);
}

}  // namespace qksolve::app
