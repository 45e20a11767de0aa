// What commands share: where they print, when they stop, and what they have in common on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::app {

struct Context {
  std::ostream& out;  // results
  std::ostream& err;  // tables, progress, messages
  std::vector<std::string> argv;
  std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
  std::function<int()> action;  // set by the command that was chosen
  // Commands that are other programs: to be started with the words that follow the command's name.
  std::map<const CLI::App*, std::function<void(const std::vector<std::string>&)>> external;

  Context(std::ostream& results, std::ostream& messages, std::vector<std::string> words)
      : out(results), err(messages), argv(std::move(words)) {}
};

// Whether SIGINT, SIGTERM or SIGHUP came in; main installs the handlers.
bool interrupted();
void install_interrupt_handlers();

// --seed, --threads, -o, --csv, --quiet, --progress.
struct RunArguments {
  std::int64_t seed = 0, threads = 1;
  std::string output, csv, progress = "auto";
  bool quiet = false;

  RunArguments();
  void declare_seed(Options& options);
  void declare_presentation(Options& options);  // last: everything after it is not a parameter
  results::Output open_output(const Context& context) const;
};

// An empty result of the command that `options` belong to, with its parameters and where it comes from.
results::Result new_result(const Options& options, const RunArguments& run, const Context& context);

// Exit code of a run whose result is written.
int exit_code(bool all_converged);
int exit_code(const std::vector<results::Json>& records);  // all of which were asked for

// Adds a command. `Arguments` holds the values of its options: `declare(Options&)` declares them,
// `finish(const Options&)` checks what depends on several of them, then `run` does the work and returns the
// exit code.
template <class Arguments>
void add_command(CLI::App& parent, Context& context, const std::string& name, const std::string& summary,
                 const std::string& example, int (*run)(const Arguments&, const Options&, Context&)) {
  CLI::App* command = parent.add_subcommand(name, summary);
  auto arguments = std::make_shared<Arguments>();
  auto options = std::make_shared<Options>(*command);
  arguments->declare(*options);
  command->footer("Example: " + example);
  command->final_callback([=, &context] {
    context.action = [=, &context] {
      options->resolve();
      arguments->finish(*options);
      return run(*arguments, *options, context);
    };
  });
}

// How far a long run is, on stderr: tasks done, rate, time left. One line that changes on a terminal;
// elsewhere, as tasks end, at most one every ten seconds.
class Progress {
 public:
  Progress(const Context& context, const RunArguments& run, std::size_t total);
  ~Progress();
  void done(const std::string& what);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPause{10};

  std::ostream& err_;
  std::size_t total_, count_ = 0, width_ = 0;
  bool enabled_, terminal_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
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
std::string short_number(double value, int digits = 6);

// One file per command.
void add_phase_solve(CLI::App& phase, Context& context);
void add_phase_critical(CLI::App& phase, Context& context);
void add_phase_sweep(CLI::App& phase, Context& context);
void add_phase_simulate(CLI::App& phase, Context& context);
void add_flow_solve(CLI::App& flow, Context& context);
void add_flow_simulate(CLI::App& flow, Context& context);
void add_coupled_solve(CLI::App& coupled, Context& context);
void add_coupled_train(CLI::App& coupled, Context& context);
void add_compare(CLI::App& program, Context& context);
void add_combine(CLI::App& program, Context& context);
void add_plot(CLI::App& program, Context& context);
void add_schema(CLI::App& program, Context& context);

}  // namespace qksolve::app
