// qksolve flow simulate: training of the one-layer model with full matrices.
#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "command.hpp"
#include "flow_arguments.hpp"
#include "qksolve/flow/full_matrix.hpp"
#include "usage.hpp"

namespace qksolve::app {

namespace {

using flow::Measurement;
using results::Json;
using results::put;

struct Arguments : FlowArguments {
  std::int64_t d = 1000, inner_dimension = 0, steps = 1000, batch = 0;
  double step_size = 1.0, init_scale = 0.01;
  std::string optimizer = "gd", init = "aligned", embedding = "orthogonal";
  std::vector<double> times;

  // A task whose tokens fit into d dimensions.
  Arguments() {
    classes = 10;
    pool = 1;
    common = common_per_sequence = 20;
    distinct_per_sequence = 2;
    query = "shared";
  }

  flow::Training training() const {
    flow::Training t;
    t.dimension = static_cast<int>(d);
    t.inner_dimension = static_cast<int>(inner_dimension);
    t.embedding = embedding == "gaussian" ? flow::Embedding::gaussian : flow::Embedding::orthogonal;
    t.init = init == "aligned"    ? flow::Init::aligned
             : init == "identity" ? flow::Init::identity
                                  : flow::Init::random;
    t.init_scale = init_scale;
    t.optimizer = optimizer == "gd"      ? flow::Optimizer::gd
                  : optimizer == "sgd"   ? flow::Optimizer::sgd
                  : optimizer == "adamw" ? flow::Optimizer::adamw
                                         : flow::Optimizer::rk4;
    t.step_size = step_size;
    t.steps = steps;
    t.batch = static_cast<int>(batch);
    t.seed = static_cast<std::uint64_t>(run.seed);
    return t;
  }

  // --times, or about 50 log-spaced steps.
  std::vector<std::int64_t> record_steps() const {
    std::vector<std::int64_t> found;
    for (const double t : times) found.push_back(std::llround(t / step_size));
    if (times.empty()) {
      found = {0, steps};
      for (int i = 0; i < 50; ++i)
        found.push_back(std::llround(std::pow(static_cast<double>(steps), i / 49.0)));
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    found.erase(std::upper_bound(found.begin(), found.end(), steps), found.end());
    return found;
  }

  void finish_training(const Options& options) {
    finish(options);
    const flow::Model m = model(parameterizations.front(), 1.0);
    const int tokens = flow::vocabulary(m.task);
    if (d < tokens)
      throw UsageError("--d: '" + std::to_string(d) + "' is not allowed, expected at least " +
                       std::to_string(tokens) + ", the number of tokens");
    if (init == "aligned" && inner_dimension > 0 && inner_dimension < classes)
      throw UsageError("--inner-dimension: '" + std::to_string(inner_dimension) +
                       "' is not allowed with --init aligned, expected at least --classes " +
                       std::to_string(classes));
    if (optimizer == "sgd" && !options.given("batch")) batch = 32;
    if (optimizer == "sgd" && batch == 0)
      throw UsageError("--batch: '0' is not allowed with --optimizer sgd, expected >= 1");
    if ((optimizer == "gd" || optimizer == "rk4") && batch > 0)
      throw UsageError("--batch: '" + std::to_string(batch) + "' is not allowed with --optimizer " +
                       optimizer +
                       ", which follows the population gradient; expected --optimizer sgd or adamw");
    for (const double t : times) {
      const double count = std::round(t / step_size);
      if (std::abs(count * step_size - t) > 1e-9 * t || count > static_cast<double>(steps))
        throw UsageError("--times: '" + to_text(t) + "' is not allowed, expected a multiple of --step-size " +
                         to_text(step_size) + " within --steps " + std::to_string(steps));
    }
  }
};

Json make_record(const Measurement& m, const std::string& parameterization, double ratio) {
  Json record;
  record["parameterization"] = parameterization;
  record["ratio"] = ratio;
  record["status"] = "converged";
  record["step"] = m.step;
  put(record, "t", m.t);
  put(record, "u", m.u);
  put(record, "beta", m.beta);
  put(record, "p", m.attention);
  put(record, "margin", m.margin);
  put(record, "loss", m.loss);
  put(record, "off_line_ov", m.off_line_ov);
  put(record, "off_line_qk", m.off_line_qk);
  return record;
}

// Largest differences to the reduced flow, which starts at the same point and follows the same gradient.
Json compare_with_flow(const flow::Model& model, const std::vector<Measurement>& measurements) {
  flow::Request request;
  for (const Measurement& m : measurements) request.times.push_back(m.t);
  request.end = std::max(request.end, measurements.back().t);
  const flow::Trajectory reduced = flow::closed_form(model, request);
  double u = 0, beta = 0, p = 0;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const flow::Point& x = reduced.at_times[i];
    if (x.status != flow::Status::converged) return Json::object();
    u = std::max(u, std::abs(measurements[i].u - x.u));
    beta = std::max(beta, std::abs(measurements[i].beta - x.beta));
    p = std::max(p, std::abs(measurements[i].attention - x.attention));
  }
  Json json;
  put(json, "largest_u_difference", u);
  put(json, "largest_beta_difference", beta);
  put(json, "largest_p_difference", p);
  return json;
}

void print_table(std::ostream& err, const std::vector<Json>& records) {
  Table table({"parameterization", "ratio", "step", "t", "u", "beta", "p", "loss", "off line OV",
               "off line QK", "status"});
  for (std::size_t i = 0; i < records.size(); ++i) {  // the last record of every run
    const Json& r = records[i];
    if (i + 1 < records.size() && records[i + 1]["ratio"] == r["ratio"] &&
        records[i + 1]["parameterization"] == r["parameterization"])
      continue;
    auto number = [&](const std::string& key) { return r.contains(key) ? short_number(r[key]) : "-"; };
    std::string status = r["status"];
    if (r.contains("reason")) status += ": " + r["reason"].get<std::string>();
    table.add({r["parameterization"], number("ratio"), number("step"), number("t"), number("u"),
               number("beta"), number("p"), number("loss"), number("off_line_ov"), number("off_line_qk"),
               status});
  }
  table.print(err);
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  results::Output output(arguments.run.output, context.out);
  results::Result result;
  result.schema = "qksolve.flow.simulate/1";
  result.parameters = options.parameters();
  result.provenance.argv = context.argv;
  result.provenance.seed = static_cast<std::uint64_t>(arguments.run.seed);
  result.provenance.threads = static_cast<int>(arguments.run.threads);

  const flow::Training training = arguments.training();
  const bool follows_flow =
      training.init == flow::Init::aligned && training.optimizer != flow::Optimizer::adamw;
  bool all_converged = true;
  Json comparison = Json::array();
  Progress progress(context, arguments.run, arguments.parameterizations.size() * arguments.ratio.size());
  for (const flow::Parameterization& parameterization : arguments.parameterizations)
    for (const double ratio : arguments.ratio) {
      if (interrupted()) break;
      const std::string name = parameterization.name();
      const flow::Model model = arguments.model(parameterization, ratio);
      const flow::TrainingRun trained = flow::train(model, training, arguments.record_steps(), interrupted);
      for (const Measurement& m : trained.measurements) result.records.push_back(make_record(m, name, ratio));
      if (trained.status != flow::Status::converged && !interrupted()) {
        all_converged = false;
        Json record;
        record["parameterization"] = name;
        record["ratio"] = ratio;
        record["status"] = flow::status_name(trained.status);
        record["reason"] = trained.reason;
        result.records.push_back(record);
      } else if (follows_flow && !trained.measurements.empty()) {
        Json row{{"parameterization", name}, {"ratio", ratio}};
        row.update(compare_with_flow(model, trained.measurements));
        comparison.push_back(row);
      }
      progress.done("flow simulate: " + name + ", ratio " + short_number(ratio));
    }
  if (follows_flow) result.summary["reduced_flow"] = comparison;
  output.write(result);
  if (!arguments.run.quiet && !result.records.empty()) print_table(context.err, result.records);
  if (interrupted()) return kInterrupted;
  return all_converged ? kDone : kNotConverged;
}

}  // namespace

void add_flow_simulate(CLI::App& flow, Context& context) {
  CLI::App* command = flow.add_subcommand("simulate", "Training of the one-layer model with full matrices");
  auto arguments = std::make_shared<Arguments>();
  auto options = std::make_shared<Options>(*command);
  arguments->declare_model(*options);
  options->integer("d", arguments->d, 2, 20000, "Dimension of the embeddings, at least the number of tokens");
  options->choice("embedding", arguments->embedding, {"orthogonal", "gaussian"},
                  "Random orthonormal embeddings, or Gaussian ones of variance 1/d");
  options->choice("init", arguments->init, {"aligned", "identity", "random"},
                  "Start at u0, beta0 of the reduced flow, or with factors that are a multiple of the "
                  "identity, or Gaussian");
  options->real("init-scale", arguments->init_scale, kPositive,
                "Multiple of the identity, or standard deviation of a factor's entries");
  options->integer("inner-dimension", arguments->inner_dimension, 0, 20000,
                   "Inner dimension of the factors; 0: the number of classes if aligned, else d");
  options->choice(
      "optimizer", arguments->optimizer, {"gd", "sgd", "adamw", "rk4"},
      "Gradient descent, the same on mini-batches, AdamW, or Runge-Kutta steps of the flow itself");
  options->integer("steps", arguments->steps, 0, 1000000000, "Optimisation steps");
  options->real("step-size", arguments->step_size, kPositive,
                "Time of one step: it multiplies both learning rates");
  options->integer("batch", arguments->batch, 0, 1000000,
                   "Sequences in a mini-batch, 0: the population gradient (sgd: 32 unless given)");
  options->text(
      "times", "LIST|GRID", "",
      "Times of the records, multiples of the step size (default about 50, log-spaced)",
      [arguments](const std::string& text) {
        arguments->times = parse_grid("--times", text, {0.0, 1e300});
      },
      [arguments] { return arguments->times.empty() ? Json() : Json(arguments->times); });
  arguments->run.declare_seed(*options);
  arguments->run.declare_presentation(*options);
  command->footer(
      "Example: qksolve flow simulate --parameterization all --ratio 0.1 --optimizer rk4 --steps 800 -o "
      "simulation.json");
  command->final_callback([arguments, options, &context] {
    context.action = [arguments, options, &context] {
      options->resolve();
      arguments->finish_training(*options);
      return run(*arguments, *options, context);
    };
  });
}

}  // namespace qksolve::app
