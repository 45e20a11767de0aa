// qksolve plot: the figure that belongs to a result.
#include "qksolve/results/figures/plot.hpp"

#include <filesystem>
#include <ostream>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "qksolve/results/figures/gnuplot.hpp"
#include "qksolve/results/printable.hpp"

namespace qksolve::app {

namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string output;
  bool data_only = false;

  void declare(Options& options) {
    options.positionals("files", files,
                        "Results: the first selects the figure, the others are drawn into it");
    options.presentation();
    options.path("output", output, "Write the figure here; its name ends in .svg, .pdf or .png");
    options.flag("data-only", data_only, "Write the gnuplot script (.gp) and its table (.dat) instead");
  }

  void finish(const Options&) const {
    const std::string type = std::filesystem::path(output).extension();
    if (type != ".svg" && type != ".pdf" && type != ".png")
      throw UsageError("--output: '" + output +
                       "' is not allowed, expected the name of a file that ends in .svg, .pdf or .png");
    const std::string script = std::filesystem::path(output).replace_extension(".gp"),
                      table = std::filesystem::path(output).replace_extension(".dat");
    for (const std::string& written : {output, script, table})
      for (const std::string& file : files)
        if (results::same_file(file, written))
          throw UsageError("--output: '" + output + "' is not allowed, it would replace the result '" + file +
                           "'");
    if (data_only && results::same_file(script, table))
      throw UsageError("--output: '" + output + "' is not allowed, '" + script + "' and '" + table +
                       "' are one file");
  }
};

int run(const Arguments& arguments, const Options&, Context& context) {
  std::vector<results::Input> inputs;
  for (const std::string& file : arguments.files) inputs.push_back({file, read_result(file, context)});
  const results::Figure figure = results::make_figure(inputs);
  try {
    if (arguments.data_only) {
      results::write_script(figure, arguments.output);
      return kDone;
    }
    const std::string warnings = results::draw(figure, arguments.output);
    if (!warnings.empty()) context.err << "qksolve: gnuplot: " << results::printable(warnings) << "\n";
  } catch (const results::GnuplotError& error) {
    throw UsageError(error.what());
  }
  return kDone;
}

}  // namespace

Command plot() {
  return make_command<Arguments>("", "plot", "The figure that belongs to a result, by gnuplot",
                                 "qksolve plot theory.json simulation.json -o overlaps.svg", run);
}

}  // namespace qksolve::app
