#include "cli/command.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <limits>
#include <ostream>
#include <thread>

#include "cli/usage.hpp"
#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/results/printable.hpp"

namespace qksolve::app {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void on_signal(int) { g_interrupted = 1; }

std::string fixed(double value, int digits) {
  char buffer[400];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, digits);
  return {buffer, end};
}

// "1:02:03", rounded up to a second.
std::string clock_time(double seconds) {
  const auto total = static_cast<long long>(std::ceil(seconds));
  const auto two_digits = [](long long n) { return std::string(n < 10 ? 1 : 0, '0') + std::to_string(n); };
  return std::to_string(total / 3600) + ":" + two_digits(total / 60 % 60) + ":" + two_digits(total % 60);
}

}  // namespace

bool interrupted() { return g_interrupted != 0; }

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // The end of the terminal, too, unless nohup said otherwise.
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

bool until_interrupt(const std::function<void()>& work) {
  if (interrupted()) return false;
  try {
    work();
    return true;
  } catch (const numerics::Interrupted&) {
    return false;
  }
}

RunArguments::RunArguments() : threads(std::max(1U, std::thread::hardware_concurrency())) {}

void RunArguments::declare_seed(Options& options) {
  options.integer("seed", seed, 0, std::numeric_limits<std::int64_t>::max(), "Seed of everything random");
}

void RunArguments::declare_presentation(Options& options) {
  options.presentation();
  options.integer("threads", threads, 1, 1024, "Threads; results do not depend on it", "one a core");
  options.path("output", output, "Write the result here instead of standard output");
  options.path("csv", csv, "Also write the records here as comma-separated values");
  options.flag("quiet", quiet, "Print no table and no progress");
  options.choice(
      "progress", progress, {"auto", "always", "never"},
      "Progress on standard error: a line that changes on a terminal, elsewhere at most a line every "
      "10 s; auto: of more than one task; never: nothing");
}

results::Output RunArguments::open_output(const Context& context) const {
  return results::Output(output, context.out, csv);
}

results::Result new_result(const Options& options, const RunArguments& run, const Context& context) {
  results::Result result;
  result.schema = options.schema();
  result.parameters = options.parameters();
  result.provenance.argv = context.argv;
  result.provenance.started = context.started;
  // The program by its name: where it lies says nothing about a result.
  std::string& program = result.provenance.argv.front();
  program = std::filesystem::path(program).filename().string();
  result.provenance.seed = static_cast<std::uint64_t>(run.seed);
  result.provenance.threads = static_cast<int>(run.threads);
  return result;
}

void write_result(results::Output& output, const results::Result& result, const Context& context,
                  const results::RecordSource& records) {
  if (result.missing.empty()) return output.write(result, records);
  if (result.records.empty() && !records) {
    context.err << "qksolve: interrupted before anything was finished, nothing is written\n";
    return;
  }
  output.write(result, records);
  context.err << "qksolve: interrupted, " << results::printable(results::missing_parts(result.missing))
              << " (the result says so; the same command begins anew)\n";
}

results::Json read_result(const std::string& path, const Context& context) {
  results::Json result = results::read_result(path);
  if (const auto lacking = results::incompleteness(result))
    context.err << "qksolve: " << results::printable(path + ": an interrupted run, " + *lacking) << "\n";
  return result;
}

int exit_code(bool all_converged) {
  if (interrupted()) return kInterrupted;
  return all_converged ? kDone : kNotConverged;
}

int exit_code(const std::vector<results::Json>& records) {
  return exit_code(std::all_of(records.begin(), records.end(),
                               [](const results::Json& r) { return r["status"] == "converged"; }));
}

Progress::Progress(const Context& context, const RunArguments& run, std::size_t total)
    : err_(context.err), total_(total), terminal_(isatty(STDERR_FILENO) != 0) {
  enabled_ = !run.quiet && (run.progress == "always" || (run.progress == "auto" && total > 1));
}

Progress::~Progress() {
  if (enabled_ && terminal_) err_ << "\r" << std::string(width_, ' ') << "\r" << std::flush;
}

void Progress::done(const std::string& what) {
  ++count_;
  if (!enabled_) return;
  const Clock::time_point now = Clock::now();
  if (!terminal_ && now - last_ < kPause) return;
  last_ = now;
  const double rate = static_cast<double>(count_) / std::chrono::duration<double>(now - start_).count();
  std::string line = std::to_string(count_) + "/" + std::to_string(total_) + ", " + short_number(rate, 3) +
                     "/s, " + clock_time(static_cast<double>(total_ - count_) / rate) + " left: " + what;
  if (!terminal_) {
    err_ << line << std::endl;
    return;
  }
  // One line of the terminal, overwritten by the next.
  line.resize(width_ = std::max(width_, line.size()), ' ');
  err_ << '\r' << line << std::flush;
}

void Table::add(const std::vector<std::string>& row) {
  rows_.emplace_back();
  std::transform(row.begin(), row.end(), std::back_inserter(rows_.back()), results::printable);
}

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

std::string short_number(double value, int digits) {
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits);
  return {buffer, end};
}

std::string with_error(double value, double error) {
  if (error == 0.0 && value == 0.0) return "0";
  if (!(error > 0.0) || !std::isfinite(error)) return short_number(value);
  // Two digits of the error, one when it is 30 or more in the last place.
  int digits = 1 - static_cast<int>(std::floor(std::log10(error)));
  double last = error * std::pow(10.0, digits);
  if (last >= 29.5) {
    --digits;
    last /= 10.0;
  }
  if (digits < 0 || digits > 15) return short_number(value) + " +- " + short_number(error);
  return fixed(value, digits) + "(" + fixed(std::ceil(last), 0) + ")";
}

}  // namespace qksolve::app
