// qksolve phase critical: thresholds in alpha at given omega.
#include <memory>
#include <ostream>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "phase_arguments.hpp"
#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/phase/equations/thresholds.hpp"

namespace qksolve::app {

namespace {

using phase::Threshold;
using phase::ThresholdStatus;
using results::Json;
using results::put;

struct Arguments : PhaseArguments {
  std::vector<std::string> which{"alpha_c", "alpha_l"};
  std::vector<std::string> between{"semantic", "positional"};
  double alpha_low = 0.05, alpha_high = 10.0;

  Arguments() { tolerance = 1e-3; }

  void declare(Options& options) {
    options.choices("which", which, phase::threshold_names(), "Thresholds to find");
    options.choices("between", between, {"semantic", "positional", "uninformed", "mixed"},
                    "The two branches that exchange their order at alpha_c");
    options.range("alpha-range", alpha_low, alpha_high, kPositive, "Range of alpha that is searched");
    declare_model(options);
    declare_solver(options, "Error allowed on a threshold, relative to it");
    run.declare_presentation(options);
  }

  void finish(const Options& options) {
    PhaseArguments::finish(options);
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

int run(const Arguments& arguments, const Options& options, Context& context) {
  results::Output output = arguments.run.open_output(context);
  results::Result result = new_result(options, arguments.run, context);

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
