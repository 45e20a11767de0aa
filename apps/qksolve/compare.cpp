// qksolve compare: two results side by side, in units of their error bars.
#include "qksolve/results/compare.hpp"

#include <memory>
#include <ostream>

#include "command.hpp"
#include "usage.hpp"

namespace qksolve::app {

namespace {

using results::Json;

struct Arguments {
  std::string a, b, output;
  double sigmas = 4;
  bool quiet = false;
};

void print_table(std::ostream& out, const results::Comparison& comparison) {
  Table table({"alpha", "omega", "branch", "quantity", "a", "b", "difference", "sigmas"});
  for (const Json& r : comparison.records)
    table.add({short_number(r["alpha"]), short_number(r["omega"]), r["branch"], r["quantity"],
               with_error(r["a"], r.value("a_error", 0.0)), with_error(r["b"], r.value("b_error", 0.0)),
               short_number(r["difference"]), r.contains("sigmas") ? short_number(r["sigmas"]) : "-"});
  table.print(out);
  const Json& s = comparison.summary;
  out << "chi-square " << short_number(s["chi_square"]) << " from " << s["count"] << " differences, largest "
      << short_number(s["largest_sigmas"]) << " sigmas, " << s["outside"]
      << " outside the limit; points without a partner: " << s["only_in_a"] << " in a, " << s["only_in_b"]
      << " in b\n";
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  // The table is the output here; JSON only where a file is named for it.
  std::optional<results::Output> output;
  if (!arguments.output.empty()) output.emplace(arguments.output, context.out);
  const results::Comparison comparison =
      results::compare_results(results::read_result(arguments.a), arguments.a,
                               results::read_result(arguments.b), arguments.b, arguments.sigmas);
  if (output) {
    results::Result result;
    result.schema = "qksolve.compare/1";
    result.parameters["a"] = arguments.a;
    result.parameters["b"] = arguments.b;
    result.parameters.update(options.parameters());
    result.records = comparison.records;
    result.summary = comparison.summary;
    result.provenance.argv = context.argv;
    output->write(result);
  }
  if (!arguments.quiet) print_table(output ? context.err : context.out, comparison);
  return comparison.all_within ? kDone : kNotConverged;
}

}  // namespace

void add_compare(CLI::App& program, Context& context) {
  CLI::App* command =
      program.add_subcommand("compare", "Theory against simulation, or two results of one kind");
  auto arguments = std::make_shared<Arguments>();
  auto options = std::make_shared<Options>(*command);
  command->add_option("A", arguments->a, "Result of phase solve or phase simulate")
      ->required()
      ->type_name("FILE");
  command->add_option("B", arguments->b, "Result to compare it with")->required()->type_name("FILE");
  options->real("sigmas", arguments->sigmas, kPositive,
                "Largest difference allowed, in combined standard errors; exit code 3 beyond");
  options->presentation();
  options->path("output", arguments->output, "Write the comparison here as JSON");
  options->flag("quiet", arguments->quiet, "Print no table");
  command->footer("Example: qksolve compare theory.json simulation.json --sigmas 4");
  command->final_callback([arguments, options, &context] {
    context.action = [arguments, options, &context] {
      options->resolve();
      return run(*arguments, *options, context);
    };
  });
}

}  // namespace qksolve::app
