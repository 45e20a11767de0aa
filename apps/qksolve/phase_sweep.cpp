// qksolve phase sweep: the phase diagram in the alpha-omega plane, resumable and in parallel.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>

#include "command.hpp"
#include "phase_arguments.hpp"
#include "qksolve/numerics/task_farm.hpp"
#include "qksolve/phase/continuation.hpp"
#include "qksolve/results/phase_record.hpp"
#include "qksolve/results/work_file.hpp"
#include "sweep_output.hpp"
#include "usage.hpp"

namespace qksolve::app {

namespace {

using results::Json;
using results::Sweep;

struct Arguments : PhaseArguments {
  std::vector<double> alpha = parse_grid("", "0.05:2:40", {});
  std::string resume;
  std::int64_t shard = 1, shards = 1;

  Arguments() {
    omega = parse_grid("", "0:0.5:26", {});
    tolerance = 1e-3;
  }

  void declare(Options& options) {
    options.grid("alpha", alpha, kPositive, "Samples per dimension, ascending");
    declare_model(options);
    declare_branch(options);
    declare_solver(options, "Relative error allowed on every quantity of a record");
    options.presentation();
    options.path(
        "resume", resume,
        "Work file: what it holds is not computed again, what is computed is added (default: the name "
        "of the output and .work.jsonl, removed at the end)");
    options.text(
        "shard", "i/n", "1/1",
        "Do only every n-th task, beginning with the i-th; the work file is the result",
        [this](const std::string& text) { parse_shard(text); }, [] { return Json(); });
    run.declare_presentation(options);
  }

  void parse_shard(const std::string& text) {
    const std::vector<std::string> pieces = split(text, '/');
    try {
      if (pieces.size() != 2) throw UsageError("");
      shards = parse_integer("", pieces[1], 1, 1'000'000);
      shard = parse_integer("", pieces[0], 1, shards);
    } catch (const UsageError&) {
      throw UsageError("--shard: '" + text + "' is not allowed, expected i/n with 1 <= i <= n <= 1000000");
    }
  }

  void finish(const Options& options) {
    PhaseArguments::finish(options);
    for (const auto& [name, values] : {std::pair("alpha", &alpha), std::pair("omega", &omega)})
      if (!std::is_sorted(values->begin(), values->end()))
        throw UsageError(std::string("--") + name + ": the values are not in order, expected ascending ones");
    if (shards > 1 && work_file().empty())
      throw UsageError("--shard: " + std::to_string(shard) + "/" + std::to_string(shards) +
                       " needs a work file, expected --resume FILE or -o FILE");
  }

  // Where finished tasks are kept; empty: in memory.
  std::string work_file() const {
    if (!resume.empty() || run.output.empty()) return resume;
    return run.output + ".work.jsonl";
  }

  std::vector<Json> solve(const Sweep& sweep, std::size_t task) const {
    const double omega_value = sweep.omega(task);
    const phase::Model phase_model = model(omega_value);
    phase::BranchSolver solver(phase_model, make_quadrature(phase_model, 1), solve_options());
    solver.set_interrupt(interrupted);
    std::vector<Json> records;
    for (const phase::BranchSolution& s :
         phase::follow_branch(solver, phase::branch_named(sweep.branch(task)), sweep.alphas()))
      records.push_back(results::phase_record(s, omega_value, variance(), solver.quadrature()));
    return records;
  }
};

int run(const Arguments& arguments, const Options& options, Context& context) {
  std::unique_ptr<numerics::Ranks> ranks;
  try {
    ranks = std::make_unique<numerics::Ranks>();
  } catch (const std::runtime_error& error) {
    throw UsageError(std::string("phase sweep: ") + error.what() +
                     ", expected a program built with it or --shard");
  }
  const Sweep sweep(options.parameters());
  const numerics::Task solve = [&](std::size_t task) { return Json(arguments.solve(sweep, task)).dump(); };
  // By default the threads of a machine serve one process, and one each where mpirun starts several.
  const int threads =
      ranks->size() > 1 && !options.given("threads") ? 1 : static_cast<int>(arguments.run.threads);
  if (ranks->rank() != 0) {
    ranks->run({}, threads, solve, {}, interrupted);
    return kDone;
  }

  results::Output output = arguments.run.open_output(context);
  const std::string work_path = arguments.work_file();
  std::unique_ptr<results::WorkFile> work;
  if (!work_path.empty()) work = std::make_unique<results::WorkFile>(work_path, sweep.header());
  if (work && work->repaired() && !arguments.run.quiet)
    context.err << "qksolve: " << work_path << ": the last line was half-written and is done again\n";
  std::map<std::string, std::string> memory;  // what finished, where there is no work file

  std::vector<std::size_t> tasks;
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    if (static_cast<std::int64_t>(i) % arguments.shards != arguments.shard - 1) continue;
    ++wanted;
    if (!work || !work->contains(sweep.id(i))) tasks.push_back(i);
  }
  if (tasks.size() < wanted && !arguments.run.quiet)
    context.err << "qksolve: " << work_path << ": " << wanted - tasks.size() << " of " << wanted
                << " tasks are finished\n";
  Progress progress(context, arguments.run, tasks.size());
  ranks->run(
      tasks, threads, solve,
      [&](std::size_t task, const std::string& found) {
        if (work)
          work->add(sweep.id(task), Json::parse(found));
        else
          memory[sweep.id(task)] = found;
        progress.done("phase sweep: " + sweep.name(task));
      },
      interrupted);
  // What is kept in a work file needs no other place.
  if (interrupted() && work) return kInterrupted;

  results::Result result = new_result(options, arguments.run, context);
  result.provenance.threads = threads * ranks->size();
  std::unique_ptr<results::WorkFileReader> reader;
  if (work) reader = std::make_unique<results::WorkFileReader>(work_path);
  const auto fetch = [&](std::size_t task) -> std::optional<std::vector<Json>> {
    const std::string& id = sweep.id(task);
    if (reader) {
      if (!reader->contains(id)) return std::nullopt;
      return reader->value(id).get<std::vector<Json>>();
    }
    const auto found = memory.find(id);
    if (found == memory.end()) return std::nullopt;
    return Json::parse(found->second).get<std::vector<Json>>();
  };
  const int code = write_sweep(sweep, fetch, result, output, arguments.run, context);
  if (work && arguments.resume.empty() && arguments.shards == 1) std::remove(work_path.c_str());
  return code;
}

}  // namespace

void add_phase_sweep(CLI::App& phase, Context& context) {
  add_command<Arguments>(phase, context, "sweep",
                         "The phase diagram: all branches and thresholds on a grid of alpha and omega",
                         "qksolve phase sweep --alpha 0.05:2:40 --omega 0:0.5:26 -o diagram.json", run);
}

}  // namespace qksolve::app
