// qksolve phase simulate: finite-size experiments, to be compared with the theory.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <fstream>
#include <mutex>
#include <ostream>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "phase_arguments.hpp"
#include "phase_bayes.hpp"
#include "qksolve/numerics/parallel.hpp"
#include "qksolve/phase/finite_size/experiment.hpp"
#include "qksolve/phase/report/bayes_simulation.hpp"
#include "qksolve/phase/report/simulation_rows.hpp"
#include "qksolve/phase/report/simulation_summary.hpp"
#include "qksolve/phase/two_token/teacher.hpp"

namespace qksolve::app {

namespace {

using phase::Init;
using phase::Optimizer;
using results::Json;
using results::SimulationRows;

struct OptimizerDefaults {
  std::string name;
  Optimizer optimizer;
  double learning_rate;  // 0: has none
  std::int64_t steps;
  double gradient_tolerance;
};
const std::vector<OptimizerDefaults> kOptimizers{{"gd", Optimizer::gradient_descent, 0.15, 5000, 1e-2},
                                                 {"adam", Optimizer::adam, 0.01, 2500, 1e-2},
                                                 {"lbfgs", Optimizer::lbfgs, 0, 1000, 1e-8},
                                                 {"amp", Optimizer::message_passing, 0, 1000, 1e-8},
                                                 {"bayes-amp", Optimizer::message_passing, 0, 200, 1e-8}};

// Options that Bayes-optimal message passing does not have.
const std::vector<std::string> kNotOfBayes{"damping", "amp-response", "response", "precision",
                                           "test-samples"};

struct Arguments : PhaseArguments {
  std::vector<double> alpha{2.0};
  std::vector<std::int64_t> dimensions{1000};
  std::int64_t instances = 1, steps = 0, test_samples = 50000;
  double learning_rate = 0, gradient_tolerance = 0;  // 0: the optimizer's own
  std::string optimizer = "lbfgs", precision = "double", amp_response = "total";
  std::vector<std::string> inits{"semantic", "positional"};
  double amp_damping = 0.75;
  double start_overlap = 0.1;
  bool trajectory = false, measure_response = false;

  bool bayes() const { return optimizer == "bayes-amp"; }
  results::BayesSimulation bayes_simulation() const {
    return {inits, start_overlap, static_cast<int>(steps), gradient_tolerance, trajectory};
  }
  void declare(Options& options);
  void finish_bayes(const Options& options);
  void finish(const Options& options);
  phase::ExperimentOptions experiment() const;
  const OptimizerDefaults& defaults() const {
    return *std::find_if(kOptimizers.begin(), kOptimizers.end(),
                         [&](const auto& o) { return o.name == optimizer; });
  }
};

void Arguments::declare(Options& options) {
  options.grid("alpha", alpha, kPositive, "Samples per dimension; n = round(alpha d)");
  declare_model(options);
  options.integers("d", dimensions, 1, 1'000'000'000, "Dimensions; several are extrapolated in 1/d");
  options.integer("instances", instances, 1, 1'000'000, "Independent draws of teacher and data");
  options.choice("optimizer", optimizer, {"gd", "adam", "lbfgs", "amp", "bayes-amp"},
                 "Gradient descent, Adam, L-BFGS or message passing; or the message passing of the "
                 "Bayes-optimal learner");
  options.choices("init", inits, {"semantic", "positional", "mixed", "informed", "random"},
                  "Starts: at Q*, at the positional directions, at both (needs --rank 2 or more), with some "
                  "knowledge of Q* (bayes-amp only), random");
  options.text(
      "start-overlap", "REAL", "0.1", "Overlap q of an informed start, in [0, 1)",
      [this](const std::string& t) {
        start_overlap = parse_real("--start-overlap", t, {0.0, 1.0, false, true});
      },
      [this] { return bayes() ? Json(start_overlap) : Json(); });
  options.text(
      "learning-rate", "REAL", "0.15 for gd, 0.01 for adam", "Learning rate of gd and adam, > 0",
      [this](const std::string& t) { learning_rate = parse_real("--learning-rate", t, kPositive); },
      [this] { return learning_rate > 0 ? Json(learning_rate) : Json(); });
  options.text(
      "steps", "INT", "5000 for gd, 2500 for adam", "Steps of gd and adam, limit of the others (1000), >= 1",
      [this](const std::string& t) { steps = parse_integer("--steps", t, 1, 100'000'000); },
      [this] { return Json(steps); });
  options.text(
      "gradient-tolerance", "REAL", "1e-2 for gd and adam, else 1e-8",
      "|grad E|/sqrt(d) of a converged run, > 0; for amp the residual of its own equations",
      [this](const std::string& t) { gradient_tolerance = parse_real("--gradient-tolerance", t, kPositive); },
      [this] { return Json(gradient_tolerance); });
  const auto with_amp = [this](const Json& value) { return optimizer == "amp" ? value : Json(); };
  options.text(
      "damping", "REAL", "0.75", "Weight of the old value in amp, in [0, 1)",
      [this](const std::string& t) {
        amp_damping = parse_real("--damping", t, {0.0, 1.0, false, true});
      },
      [this, with_amp] { return with_amp(amp_damping); });
  options.text(
      "amp-response", "total|classical", "total",
      "Slope of the forces in amp: with or without the jumps of the proximal map",
      [this](const std::string& t) {
        if (t != "total" && t != "classical")
          throw UsageError("--amp-response: '" + t + "' is not allowed, expected one of total, classical");
        amp_response = t;
      },
      [this, with_amp] { return with_amp(amp_response); });
  options.flag(
      "response", measure_response,
      "Measure V = sigma^2 tr H^{-1}/d at the minimiser, and the share of samples that are not at the "
      "global proximal point of their cavity field");
  options.choice("precision", precision, {"double", "float"}, "Type in which the data are stored");
  options.integer("test-samples", test_samples, 2, 100'000'000, "Fresh samples for the test error");
  options.flag(
      "trajectory", trajectory,
      "Add the overlaps along the runs to the result; with amp also their prediction, in the summary");
  run.declare_seed(options);
  run.declare_presentation(options);
}

void Arguments::finish_bayes(const Options& options) {
  if (!options.given("init")) inits = {"informed", "random"};
  for (const std::string& init : inits)
    if (init != "informed" && init != "random")
      throw UsageError("--init: '" + init + "' is not allowed with bayes-amp, expected informed or random");
  Learner{"bayes"}.finish(*this, options, kNotOfBayes);
}

void Arguments::finish(const Options& options) {
  const OptimizerDefaults& own = defaults();
  if (!bayes() && (options.given("start-overlap") || std::count(inits.begin(), inits.end(), "informed") > 0))
    throw UsageError("--" + std::string(options.given("start-overlap") ? "start-overlap" : "init") +
                     ": informed starts are not those of the optimizer " + optimizer +
                     ", expected bayes-amp");
  if (own.learning_rate == 0 && options.given("learning-rate"))
    throw UsageError("--learning-rate: not used by the optimizer " + optimizer +
                     ", expected with gd or adam");
  if (optimizer != "amp" && !bayes())
    for (const char* only_amp : {"damping", "amp-response"})
      if (options.given(only_amp))
        throw UsageError("--" + std::string(only_amp) + ": not used by the optimizer " + optimizer +
                         ", expected with amp");
  if (!options.given("learning-rate")) learning_rate = own.learning_rate;
  if (!options.given("steps")) steps = own.steps;
  if (!options.given("gradient-tolerance")) gradient_tolerance = own.gradient_tolerance;
  finish_model();
  if (bayes()) finish_bayes(options);
  if (rank == 1 && std::count(inits.begin(), inits.end(), "mixed") > 0)
    throw UsageError("--init: 'mixed' is not allowed with --rank 1, expected --rank 2 or more");
  const double runs =
      static_cast<double>(alpha.size() * omega.size() * dimensions.size()) * static_cast<double>(instances);
  if (runs > 1e6)
    throw UsageError("--instances: '" + std::to_string(instances) +
                     "' is not allowed, expected at most 1000000 " +
                     "together with --alpha, --omega and --d, here " + to_text(runs));
  const phase::Model model = this->model(omega.front());
  const std::string wanted =
      " needs --tokens 2, --rank 1, --teacher-rank 1, one --sigma and one positional direction";
  if (optimizer == "amp" && !phase::is_two_token(model)) throw UsageError("--optimizer: amp" + wanted);
  if (measure_response && !phase::is_two_token(model)) throw UsageError("--response:" + wanted);
  if (measure_response && own.optimizer == Optimizer::message_passing)
    throw UsageError("--response: not used by the optimizer amp, whose V is its own");
  for (const std::int64_t d : dimensions) {
    if (model.directions() > d)
      throw UsageError("--d: " + std::to_string(d) +
                       " is not allowed, expected at least the number of positional directions, " +
                       std::to_string(model.directions()));
    for (const double a : alpha)
      if (a * static_cast<double>(d) < 0.5)
        throw UsageError("--alpha: " + to_text(a) + " leaves no samples at d = " + std::to_string(d) +
                         ", expected round(alpha d) >= 1");
  }
}

phase::ExperimentOptions Arguments::experiment() const {
  phase::ExperimentOptions e;
  e.optimizer = defaults().optimizer;
  e.learning_rate = learning_rate;
  e.steps = static_cast<int>(steps);
  e.gradient_tolerance = gradient_tolerance;
  e.damping = amp_damping;
  e.response = amp_response == "total" ? phase::Response::total : phase::Response::classical;
  e.single_precision = precision == "float";
  e.test_samples = test_samples;
  e.trajectory = trajectory;
  e.minimum_response = measure_response;
  return e;
}

// Bytes the system could give to this process; infinite where it does not say.
double available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  double kilobytes;
  while (file >> key >> kilobytes && std::getline(file, unit))
    if (key == "MemAvailable:") return 1024.0 * kilobytes;
  return HUGE_VAL;
}

// How many of the threads the memory allows. Throws UsageError if not even one instance fits.
int threads_that_fit(const Arguments& arguments) {
  const phase::Model model = arguments.model(arguments.omega.front());
  const double d =
      static_cast<double>(*std::max_element(arguments.dimensions.begin(), arguments.dimensions.end()));
  const double n = std::round(*std::max_element(arguments.alpha.begin(), arguments.alpha.end()) * d);
  const double needed =
      phase::required_memory(model, d, n, arguments.precision == "float" ? sizeof(float) : sizeof(double)) +
      2.0 * sizeof(double) * static_cast<double>(arguments.test_samples);
  const double available = available_memory();
  if (!(needed < available))
    throw UsageError("--d: an instance of d = " + to_text(d) + ", n = " + to_text(n) + " needs " +
                     short_number(needed / 1e9) + " GB of memory, expected at most the " +
                     short_number(available / 1e9) + " GB available");
  return static_cast<int>(
      std::min<double>(static_cast<double>(arguments.run.threads), std::floor(available / needed)));
}

// Predictions are not carried further: by then the path is at its fixed point.
constexpr int kPredictedSteps = 200;

struct Task {
  double omega, alpha;
  phase::Draw draw;
};

void print_table(std::ostream& err, const Json& summary) {
  // Overlaps that are matrices are shown by their invariants (phase/report/phase_record.hpp).
  const Json& groups = summary["groups"];
  const auto any = [&](const std::string& key) {
    return std::any_of(groups.begin(), groups.end(), [&](const Json& g) { return g.contains(key); });
  };
  std::vector<std::string> shown{"train_loss", "gen_error"};
  if (any("mse")) shown = {"mse"};
  if (any("q")) shown.push_back("q");
  for (int k = 1; any("q_" + std::to_string(k)); ++k) shown.push_back("q_" + std::to_string(k));
  if (!any("mse")) {
    shown.push_back(any("mu_norm") ? "mu_norm" : "m");
    shown.push_back(any("theta_norm") ? "theta_norm" : "theta");
  }
  std::vector<std::string> header{"alpha", "omega", "d", "init", "converged"};
  header.insert(header.end(), shown.begin(), shown.end());
  Table table(header);
  for (const char* part : {"groups", "extrapolation"}) {
    if (!summary.contains(part)) continue;
    for (const Json& g : summary[part]) {
      std::vector<std::string> row{
          short_number(g["alpha"]), short_number(g["omega"]), g.contains("d") ? g["d"].dump() : "1/d = 0",
          g["init"].get<std::string>(),
          g.contains("count") ? g["converged"].dump() + "/" + g["count"].dump() : ""};
      for (const std::string& key : shown) {
        const std::string best = g.contains(key + "_controlled") ? key + "_controlled" : key;
        row.push_back(g.contains(best) ? with_error(g[best], g.value(best + "_error", 0.0)) : "-");
      }
      table.add(row);
    }
  }
  table.print(err);
}

// The path prediction at every place (alpha, omega, d, init), over the iterations that the trace has there.
std::vector<std::pair<Json, std::vector<Json>>> predictions(const Arguments& arguments,
                                                            const std::vector<Init>& inits,
                                                            const std::vector<Json>& trace, int threads) {
  struct Place {
    double omega, alpha;
    std::int64_t d;
    Init init;
  };
  std::vector<Place> places;
  std::vector<std::pair<Json, std::vector<Json>>> paths;
  for (const double omega : arguments.omega)
    for (const double alpha : arguments.alpha)
      for (const std::int64_t d : arguments.dimensions)
        for (const Init init : inits) {
          places.push_back({omega, alpha, d, init});
          paths.push_back(
              {{{"alpha", alpha}, {"omega", omega}, {"d", d}, {"init", phase::init_name(init)}}, {}});
        }
  const auto predict = [&](std::ptrdiff_t at) {
    const auto i = static_cast<std::size_t>(at);
    const Place& place = places[i];
    int steps = 0;
    for (const Json& row : trace)
      if (std::all_of(paths[i].first.items().begin(), paths[i].first.items().end(),
                      [&](const auto& entry) { return row.at(entry.key()) == entry.value(); }))
        steps = std::max(steps, row.at("iteration").get<int>());
    const phase::Model model = arguments.model(place.omega);
    paths[i].second = results::prediction_rows(
        model, place.init,
        phase::predict_message_passing(
            model, place.alpha, phase::start_overlaps(place.init, place.d), std::min(steps, kPredictedSteps),
            arguments.amp_damping, {.seed = static_cast<std::uint64_t>(arguments.run.seed)}, interrupted));
  };
  numerics::parallel_for(
      std::ssize(places), threads, 1, [&] { return predict; }, interrupted);
  return paths;
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  const int threads = threads_that_fit(arguments);
  if (threads < arguments.run.threads && !arguments.run.quiet)
    context.err << "qksolve: memory allows " << threads << " instances at a time\n";
  results::Output output = arguments.run.open_output(context);
  results::Result result =
      new_result(Learner{arguments.bayes() ? "bayes" : "erm"}, kNotOfBayes, options, arguments.run, context);
  result.provenance.threads = threads;

  std::vector<Init> inits;
  for (const Init init : {Init::semantic, Init::positional, Init::mixed, Init::random})
    if (std::count(arguments.inits.begin(), arguments.inits.end(), phase::init_name(init)) > 0)
      inits.push_back(init);
  std::vector<Task> tasks;
  for (const double omega : arguments.omega)
    for (const double alpha : arguments.alpha)
      for (const std::int64_t d : arguments.dimensions)
        for (std::int64_t instance = 0; instance < arguments.instances; ++instance)
          tasks.push_back(
              {omega, alpha, {result.provenance.seed, instance, d, phase::sample_count(alpha, d)}});

  const phase::ExperimentOptions experiment = arguments.experiment();
  std::vector<SimulationRows> rows(tasks.size());
  Progress progress(context, arguments.run, tasks.size());
  std::mutex shown;
  const auto simulate = [&](std::ptrdiff_t at) {
    const auto i = static_cast<std::size_t>(at);
    const Task& task = tasks[i];
    const phase::Model model = arguments.model(task.omega);
    rows[i] = arguments.bayes() ? results::bayes_simulation_rows(model, task.alpha, task.draw,
                                                                 arguments.bayes_simulation(), interrupted)
                                : results::simulation_rows(
                                      model, task.alpha, task.draw, arguments.optimizer,
                                      phase::run_instance(model, task.draw, inits, experiment, interrupted));
    const std::scoped_lock lock(shown);
    progress.done("phase simulate: alpha " + short_number(task.alpha) + ", omega " +
                  short_number(task.omega) + ", d " + std::to_string(task.draw.dimension) + ", instance " +
                  std::to_string(task.draw.instance));
  };
  until_interrupt([&] {
    numerics::parallel_for(
        std::ssize(tasks), threads, 1, [&] { return simulate; }, interrupted);
  });

  std::vector<Json> controlled, trace;
  std::vector<Eigen::VectorXd> controls;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    SimulationRows& r = rows[i];
    if (r.records.empty())
      result.missing.push_back("alpha " + to_text(tasks[i].alpha) + ", omega " + to_text(tasks[i].omega) +
                               ", d " + std::to_string(tasks[i].draw.dimension) + ", instance " +
                               std::to_string(tasks[i].draw.instance));
    std::move(r.records.begin(), r.records.end(), std::back_inserter(result.records));
    std::move(r.controlled.begin(), r.controlled.end(), std::back_inserter(controlled));
    std::move(r.controls.begin(), r.controls.end(), std::back_inserter(controls));
    std::move(r.trace.begin(), r.trace.end(), std::back_inserter(trace));
  }
  result.summary = results::summarize_simulation(result.records, controls, controlled);
  if (arguments.trajectory) {
    if (experiment.optimizer == Optimizer::message_passing)
      if (!until_interrupt([&] {
            result.summary["paths"] = results::summarize_paths(
                trace, arguments.bayes()
                           ? results::bayes_paths(static_cast<int>(arguments.tokens), arguments.alpha,
                                                  arguments.omega, arguments.dimensions,
                                                  arguments.bayes_simulation())
                           : predictions(arguments, inits, trace, threads));
          }) &&
          result.missing.empty())
        result.missing.emplace_back("predictions along the runs");
    result.trace = std::move(trace);
  }
  write_result(output, result, context);
  if (!arguments.run.quiet && !result.records.empty()) print_table(context.err, result.summary);
  // A start that ends on another branch counts only where it was asked for by name.
  const bool all_converged = std::all_of(result.records.begin(), result.records.end(), [&](const Json& r) {
    return r["status"] == "converged" || (r["status"] == "branch_changed" && !options.given("init"));
  });
  return exit_code(all_converged);
}

}  // namespace

Command phase_simulate() {
  return make_command<Arguments>(
      "phase", "simulate", "Finite-size experiments: minimise the empirical risk of random draws and measure",
      "qksolve phase simulate --d 250,500,1000 --alpha 2 --omega 0.3 --instances 24 -o simulation.json", run);
}

}  // namespace qksolve::app
