// qksolve deep critical: thresholds of the Bayes-optimal two-layer sequence model.
#include <ostream>

#include "commands.hpp"
#include "qksolve/phase/report/deep_record.hpp"

namespace qksolve::app {

namespace {

using results::Json;

struct Arguments {
  std::vector<double> skip{0.1, 0.5, 1, 2, 4};
  std::vector<std::string> which{"alpha2"};
  double tolerance = 1e-6;
  RunArguments run;

  void declare(Options& options) {
    options.grid("skip", skip, {0.05, 100}, "Strength c of the skip connection");
    options.choices("which", which, {"alpha2"},
                    "Thresholds to find: alpha2, above which the second layer is learnt before the first");
    options.real("tolerance", tolerance, {1e-9, 0.1}, "Error allowed on a threshold, relative to it");
    run.declare_presentation(options);
  }

  void finish(const Options&) const {}
};

void print_table(std::ostream& err, const std::vector<Json>& records) {
  Table table({"skip", "which", "alpha", "status"});
  for (const Json& r : records)
    table.add({short_number(r["skip"]), r["which"],
               r.contains("value") ? with_error(r["value"], r["value_error"]) : "-",
               r.contains("reason") ? r["reason"] : r["status"]});
  table.print(err);
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  results::Output output = arguments.run.open_output(context);
  results::Result result = new_result(options, arguments.run, context);
  Progress progress(context, arguments.run, arguments.skip.size());
  for (const double c : arguments.skip) {
    if (interrupted()) {
      result.missing.push_back("skip " + to_text(c));
      continue;
    }
    result.records.push_back(results::deep_threshold(c, arguments.tolerance));
    progress.done("deep critical: skip " + short_number(c));
  }
  write_result(output, result, context);
  if (!arguments.run.quiet && !result.records.empty()) print_table(context.err, result.records);
  return exit_code(result.records);
}

}  // namespace

Command deep_critical() {
  return make_command<Arguments>(
      "deep", "critical", "Thresholds of the two layers of a Bayes-optimal sequence model (arXiv 2502.00901)",
      "qksolve deep critical --skip 0.1,0.5,1,2,4 -o thresholds.json", run);
}

}  // namespace qksolve::app
