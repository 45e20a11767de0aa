// qksolve compare: two results side by side, in units of their error bars.
#include "qksolve/results/compare.hpp"

#include <ostream>

#include "cli/usage.hpp"
#include "commands.hpp"

namespace qksolve::app {

namespace {

using results::Json;

struct Arguments {
  std::string a, b;
  double sigmas = 4;
  RunArguments run;

  void declare(Options& options) {
    options.positional("a", a,
                       "Result of phase solve, sweep, critical or simulate, or of flow solve or simulate");
    options.positional("b", b, "Result to compare it with");
    options.real("sigmas", sigmas, kPositive,
                 "Largest difference allowed, in combined standard errors; exit code 3 beyond");
    run.declare_presentation(options);
  }
  void finish(const Options&) {}
};

void print_table(std::ostream& out, const results::Comparison& comparison) {
  std::vector<std::string> header = comparison.coordinates;
  header.insert(header.end(), {"quantity", "a", "b", "difference", "sigmas"});
  Table table(header);
  for (const Json& r : comparison.records) {
    std::vector<std::string> row;
    for (const std::string& name : comparison.coordinates)
      row.push_back(r[name].is_string() ? r[name].get<std::string>() : short_number(r[name]));
    row.insert(row.end(), {r["quantity"], with_error(r["a"], r.value("a_error", 0.0)),
                           with_error(r["b"], r.value("b_error", 0.0)), short_number(r["difference"]),
                           r.contains("sigmas") ? short_number(r["sigmas"]) : "-"});
    table.add(row);
  }
  table.print(out);
  const Json& s = comparison.summary;
  out << "chi-square " << short_number(s["chi_square"]) << " from " << s["count"] << " differences, largest "
      << short_number(s["largest_sigmas"]) << " sigmas, " << s["outside"]
      << " outside the limit; points without a partner: " << s["only_in_a"] << " in a, " << s["only_in_b"]
      << " in b\n";
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  results::Output output = arguments.run.open_output(context);
  const Json a = read_result(arguments.a, context), b = read_result(arguments.b, context);
  const results::Comparison comparison =
      results::compare_results(a, arguments.a, b, arguments.b, arguments.sigmas);
  results::Result result = new_result(options, arguments.run, context);
  result.records = comparison.records;
  result.summary = comparison.summary;
  output.write(result);
  if (!arguments.run.quiet) print_table(context.err, comparison);
  if (comparison.summary["count"] == 0)
    context.err << "qksolve: no difference could be judged, one side or the other states no error\n";
  return exit_code(comparison.all_within);
}

}  // namespace

Command compare() {
  return make_command<Arguments>("", "compare", "Theory against simulation, or two results of one kind",
                                 "qksolve compare theory.json simulation.json --sigmas 4", run);
}

}  // namespace qksolve::app
