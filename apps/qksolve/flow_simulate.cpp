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
  std::int64_t test_sequences = 0, bins = 5;
  double attention_threshold = 0.1, probability_threshold = 0.5, top_fraction = 0.05;

  // A task whose tokens fit into d dimensions.
  Arguments() {
    classes = 10;
    pool = 1;
    common = common_per_sequence = 20;
    distinct_per_sequence = 2;
    query = "shared";
  }

  void declare(Options& options) {
    declare_model(options);
    options.integer("d", d, 2, 20000, "Dimension of the embeddings, at least the number of tokens");
    options.choice("embedding", embedding, {"orthogonal", "gaussian"},
                   "Random orthonormal embeddings, or Gaussian ones of variance 1/d");
    options.choice("init", init, {"aligned", "identity", "random"},
                   "Start at u0, beta0 of the reduced flow, or with factors that are a multiple of the "
                   "identity, or Gaussian");
    options.real("init-scale", init_scale, kPositive,
                 "Multiple of the identity, or standard deviation of a factor's entries");
    options.integer("inner-dimension", inner_dimension, 0, 20000,
                    "Inner dimension of the factors; 0: the number of classes if aligned, else d");
    options.choice(
        "optimizer", optimizer, {"gd", "sgd", "adamw", "rk4"},
        "Gradient descent, the same on mini-batches, AdamW, or Runge-Kutta steps of the flow itself");
    options.integer("steps", steps, 0, 1000000000, "Optimisation steps");
    options.real("step-size", step_size, kPositive, "Time of one step: it multiplies both learning rates");
    options.integer("batch", batch, 0, 1000000,
                    "Sequences in a mini-batch, 0: the population gradient (sgd: 32 unless given)");
    options.text(
        "times", "LIST|GRID", "",
        "Times of the records, multiples of the step size (default about 50, log-spaced)",
        [this](const std::string& text) {
          times = parse_grid("--times", text, {0.0, 1e300});
        },
        [this] { return times.empty() ? Json() : Json(times); });
    options.integer("test-sequences", test_sequences, 0, 10000000,
                    "Sequences on which the attention of the trained model is measured, 0: none");
    options.real("attention-threshold", attention_threshold, {0.0, 1.0},
                 "Attention is correct (AC) when its mass on distinct tokens exceeds this");
    options.real(
        "probability-threshold", probability_threshold, {0.0, 1.0},
        "Attention and model are correct (ACMC) when the true class's probability exceeds this, too");
    options.integer("bins", bins, 1, 1000, "Bins of the heatmap of mass and probability, in each direction");
    options.real(
        "top-fraction", top_fraction, {0.0, 1.0, true, false},
        "Share of the tokens that sufficiency keeps and comprehensiveness deletes, at least one token");
    run.declare_seed(options);
    run.declare_presentation(options);
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

  void finish(const Options& options) {
    FlowArguments::finish(options);
    const flow::Model m = model(parameterizations.front(), 1.0);
    const std::int64_t tokens = flow::vocabulary(m.task);
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

void put_metrics(Json& json, const flow::SequenceMetrics& x, const std::string& suffix = "") {
  put(json, "mass" + suffix, x.mass);
  put(json, "entropy" + suffix, x.entropy);
  put(json, "true_probability" + suffix, x.true_probability);
  put(json, "sufficiency" + suffix, x.sufficiency);
  put(json, "comprehensiveness" + suffix, x.comprehensiveness);
}

// Measured on sequences drawn apart from those of the training, and what the reduced model has at the same
// (u, beta).
Json attention_metrics(const Arguments& arguments, const flow::FullModel& full) {
  const auto seed = static_cast<std::uint64_t>(arguments.run.seed) ^ 0x5851f42d4c957f2dULL;
  const auto sequences =
      flow::draw_sequences(full.model().task, static_cast<int>(arguments.test_sequences), seed);
  const flow::MetricSummary summary =
      flow::summarize(full.metrics(sequences, arguments.top_fraction), arguments.attention_threshold,
                      arguments.probability_threshold, static_cast<int>(arguments.bins));
  const int length = full.model().task.distinct_per_sequence + full.model().task.common_per_sequence;
  const int top = flow::top_count(arguments.top_fraction, length);
  const Measurement m = full.measure();
  Json json;
  json["top_tokens"] = top;
  put_metrics(json, summary.mean);
  put_metrics(json, summary.standard_error, "_error");
  put(json, "AC", summary.attention_correct);
  put(json, "ACMC", summary.attention_and_model_correct);
  put_metrics(json, flow::reduced_metrics(full.model(), {m.u, m.beta}, top), "_reduced");
  json["heatmap"] =
      Json::array();  // rows: bins of the attention mass, columns: of the true class's probability
  for (Eigen::Index i = 0; i < summary.heatmap.rows(); ++i) {
    Json row = Json::array();
    for (Eigen::Index j = 0; j < summary.heatmap.cols(); ++j) row.push_back(summary.heatmap(i, j));
    json["heatmap"].push_back(row);
  }
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
  results::Result result = new_result(options, arguments.run, context);

  const flow::Training training = arguments.training();
  const bool follows_flow =
      training.init == flow::Init::aligned && training.optimizer != flow::Optimizer::adamw;
  bool all_converged = true;
  Json comparison = Json::array(), attention = Json::array();
  Progress progress(context, arguments.run, arguments.parameterizations.size() * arguments.ratio.size());
  for (const flow::Parameterization& parameterization : arguments.parameterizations)
    for (const double ratio : arguments.ratio) {
      if (interrupted()) break;
      const std::string name = parameterization.name();
      const flow::Model model = arguments.model(parameterization, ratio);
      flow::FullModel full(model, training);
      const flow::TrainingRun trained = flow::train(full, arguments.record_steps(), interrupted);
      for (const Measurement& m : trained.measurements) result.records.push_back(make_record(m, name, ratio));
      if (trained.status != flow::Status::converged && !interrupted()) {
        all_converged = false;
        Json record;
        record["parameterization"] = name;
        record["ratio"] = ratio;
        record["status"] = flow::status_name(trained.status);
        record["reason"] = trained.reason;
        result.records.push_back(record);
      } else {
        const Json coordinates{{"parameterization", name}, {"ratio", ratio}};
        if (follows_flow && !trained.measurements.empty()) {
          comparison.push_back(coordinates);
          comparison.back().update(compare_with_flow(model, trained.measurements));
        }
        if (arguments.test_sequences > 0) {
          attention.push_back(coordinates);
          attention.back().update(attention_metrics(arguments, full));
        }
      }
      progress.done("flow simulate: " + name + ", ratio " + short_number(ratio));
    }
  if (follows_flow) result.summary["reduced_flow"] = comparison;
  if (arguments.test_sequences > 0) result.summary["attention"] = attention;
  output.write(result);
  if (!arguments.run.quiet && !result.records.empty()) print_table(context.err, result.records);
  return exit_code(all_converged);
}

}  // namespace

void add_flow_simulate(CLI::App& flow, Context& context) {
  add_command<Arguments>(flow, context, "simulate", "Training of the one-layer model with full matrices",
                         "qksolve flow simulate --parameterization all --ratio 0.1 --optimizer rk4 --steps "
                         "800 -o simulation.json",
                         run);
}

}  // namespace qksolve::app
