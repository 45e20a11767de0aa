// What commands share: where they print, when they stop, and what they have in common on the command line.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
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

  Context(std::ostream& results, std::ostream& messages, std::vector<std::string> words)
      : out(results), err(messages), argv(std::move(words)) {}
};

// Whether SIGINT, SIGTERM or SIGHUP came in; main installs the handlers. The numerics::Interrupt of every
// command.
bool interrupted();
void install_interrupt_handlers();

// Does a part of a command's work, to its end or until an interrupt; after one it is not begun. Whether it
// came to its end. The one place where numerics::Interrupted is caught.
bool until_interrupt(const std::function<void()>& work);

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

// Writes the result, or, where it is that of a run that was interrupted before it had any record, nothing.
// Says what an interruption left out (result.missing). Throws results::FileError. `records`: as
// results::Output::write.
void write_result(results::Output& output, const results::Result& result, const Context& context,
                  const results::RecordSource& records = {});

// results::read_result for commands that read results: says where one is incomplete.
results::Json read_result(const std::string& path, const Context& context);

// Exit code of a run whose result is written.
int exit_code(bool all_converged);
int exit_code(const std::vector<results::Json>& records);  // all of which were asked for

// What a command does once its options are resolved. Returns the exit code.
using Action = std::function<int(const Options&, Context&)>;

// A command: `qksolve group name`, or `qksolve name` where the group is empty.
struct Command {
  std::string group, name, summary, example;
  std::function<Action(Options&)> declare;  // declares the options and keeps their values
  // In place of `declare` for a command that is a program of its own: starts it with the words that follow
  // the command's name, or throws.
  std::function<void(const std::vector<std::string>&, Context&)> start = {};
};

// A command whose options are the members of `Arguments`: `declare(Options&)` declares them, `finish(const
// Options&)` checks what depends on several of them, then `run` does the work.
template <class Arguments>
Command make_command(std::string group, std::string name, std::string summary, std::string example,
                     int (*run)(const Arguments&, const Options&, Context&)) {
  const auto declare = [run](Options& options) -> Action {
    auto arguments = std::make_shared<Arguments>();
    arguments->declare(options);
    return [arguments, run](const Options& resolved, Context& context) {
      arguments->finish(resolved);
      return run(*arguments, resolved, context);
    };
  };
  return {std::move(group), std::move(name), std::move(summary), std::move(example), declare};
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

// Columns of text, printed aligned. Cells are shown as results::printable.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(const std::vector<std::string>& row);
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "0.114817(12)": the error in units of the last digit shown. Without an error six significant digits.
std::string with_error(double value, double error);
std::string short_number(double value, int digits = 6);

}  // namespace qksolve::app
