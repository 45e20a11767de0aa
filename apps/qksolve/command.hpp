// What commands share: where they print, when they stop, and what they have in common on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "options.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::app {

struct Context {
  std::ostream& out;  // results
  std::ostream& err;  // tables, progress, messages
  std::vector<std::string> argv;
  std::function<int()> action;  // set by the command that was chosen
};

// Whether SIGINT or SIGTERM came in; main installs the handlers.
bool interrupted();
void install_interrupt_handlers();

// --seed, --threads, -o, --quiet, --progress.
struct RunArguments {
  std::int64_t seed = 0, threads = 1;
  std::string output, progress = "auto";
  bool quiet = false;

  RunArguments();
  void declare_seed(Options& options);
  void declare_presentation(Options& options);  // last: everything after it is not a parameter
};

// A line on stderr that says how far a long run is: only on a terminal unless --progress always.
class Progress {
 public:
  Progress(const Context& context, const RunArguments& run, std::size_t total);
  ~Progress();
  void done(const std::string& what);

 private:
  std::ostream& err_;
  std::size_t total_, count_ = 0, width_ = 0;
  bool enabled_, terminal_;
};

// Columns of text, printed aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "0.114817(12)": the error in units of the last digit shown. Without an error six significant digits.
std::string with_error(double value, double error);
std::string short_number(double value);

// One file per command.
void add_phase_solve(CLI::App& phase, Context& context);
void add_phase_critical(CLI::App& phase, Context& context);
void add_flow_solve(CLI::App& flow, Context& context);
void add_flow_simulate(CLI::App& flow, Context& context);
void add_phase_simulate(CLI::App& phase, Context& context);
void add_compare(CLI::App& program, Context& context);

}  // namespace qksolve::app
