// qksolve phase sweep: the phase diagram in the alpha-omega plane, resumable and in parallel.
#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/task_store.hpp"
#include "cli/usage.hpp"
#include "commands.hpp"
#include "phase_arguments.hpp"
#include "qksolve/numerics/task_farm.hpp"
#include "qksolve/phase/equations/continuation.hpp"
#include "qksolve/phase/report/phase_record.hpp"
#include "sweep_output.hpp"

namespace qksolve::app {

namespace {

using results::Json;
using results::Sweep;

struct Arguments : PhaseArguments {
  std::vector<double> alpha = parse_grid("", "0.05:2:40", {});
  std::string resume, with;
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
    options.text(
        "with", "bayes", "", "Put the Bayes-optimal limit beside every record, and its thresholds",
        [this](const std::string& t) {
          if (t != "bayes") throw UsageError("--with: '" + t + "' is not allowed, expected bayes");
          with = t;
        },
        [this] { return with.empty() ? Json() : Json(with); });
    options.presentation();
    declare_resume(options, resume);
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
    if (!with.empty() && teacher_rank > 1)
      throw UsageError("--with: 'bayes' is not allowed with --teacher-rank " + std::to_string(teacher_rank) +
                       ", expected 1");
    for (const auto& [name, values] : {std::pair("alpha", &alpha), std::pair("omega", &omega)})
      if (!std::is_sorted(values->begin(), values->end()))
        throw UsageError(std::string("--") + name + ": the values are not in order, expected ascending ones");
    if (shards > 1 && work_file(resume, run).empty())
      throw UsageError("--shard: " + std::to_string(shard) + "/" + std::to_string(shards) +
                       " needs a work file, expected --resume FILE or -o FILE");
  }

  std::vector<Json> solve(const Sweep& sweep, std::size_t task) const {
    const double omega_value = sweep.omega(task);
    const phase::Model phase_model = model(omega_value);
    phase::BranchSolver solver(phase_model, make_quadrature(phase_model, 1), solve_options());
    solver.set_interrupt(interrupted);
    const auto solutions =
        phase::follow_branch(solver, phase::branch_named(sweep.branch(task)), sweep.alphas());
    numerics::throw_if(interrupted);
    std::vector<Json> records;
    records.reserve(solutions.size());
    for (const phase::BranchSolution& s : solutions)
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
  TaskStore store(work_file(arguments.resume, arguments.run), sweep.header(), arguments.run, context);
  std::vector<std::size_t> wanted;
  for (auto i = static_cast<std::size_t>(arguments.shard - 1); i < sweep.size();
       i += static_cast<std::size_t>(arguments.shards))
    wanted.push_back(i);
  const std::vector<std::size_t> tasks = store.unfinished(wanted, sweep.ids());
  Progress progress(context, arguments.run, tasks.size());
  until_interrupt([&] {
    ranks->run(
        tasks, threads, solve,
        [&](std::size_t task, const std::string& found) {
          store.add(sweep.id(task), found);
          progress.done("phase sweep: " + sweep.name(task));
        },
        interrupted);
  });
  // What is kept in a work file needs no other place.
  if (interrupted() && store.in_file()) {
    store.tell_interruption(wanted, sweep.ids());
    return kInterrupted;
  }

  results::Result result = new_result(options, arguments.run, context);
  result.provenance.threads = threads * ranks->size();
  const auto fetch = [&](std::size_t task) -> std::optional<std::vector<Json>> {
    const std::optional<Json> found = store.find(sweep.id(task));
    if (!found) return std::nullopt;
    return sweep.records(task, *found, work_file(arguments.resume, arguments.run));
  };
  for (const std::size_t task : wanted)
    if (!store.in_file() && !store.find(sweep.id(task))) result.missing.push_back(sweep.name(task));
  const int code = write_sweep(sweep, fetch, result, output, arguments.run, context);
  if (store.in_file() && arguments.resume.empty() && arguments.shards == 1) store.remove_file();
  return code;
}

}  // namespace

Command phase_sweep() {
  return make_command<Arguments>(
      "phase", "sweep", "The phase diagram: all branches and thresholds on a grid of alpha and omega",
      "qksolve phase sweep --alpha 0.05:2:40 --omega 0:0.5:26 -o diagram.json", run);
}

}  // namespace qksolve::app
