// qksolve flow simulate: training of the one-layer model with full matrices.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <ostream>
#include <random>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "flow_arguments.hpp"
#include "qksolve/flow/theory/invariant.hpp"
#include "qksolve/flow/training/full_matrix.hpp"
#include "qksolve/flow/training/synthetic.hpp"
#include "qksolve/numerics/parallel.hpp"

namespace qksolve::app {

namespace {

using flow::Measurement;
using results::Json;
using results::put;

struct Arguments : FlowArguments {
  std::int64_t d = 1000, inner_dimension = 0, steps = 1000, batch = 0;
  double step_size = 1.0, init_scale = 0.01;
  std::string optimizer = "gd", init = "aligned", embedding = "orthogonal", preset = "none";
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
    options.choice(
        "preset", preset, {"none", "fig2", "fig3"},
        "Synthetic next-token experiments of the paper: trained to a loss of .001, or with attention "
        "held at .2 ... 1. They set the model's options, all but parameterization, learning rates, "
        "--init-scale, --batch, --steps (at most)");
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
        "times", kListOrGrid, "",
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

  // Options that describe the synthetic experiment may be left out or repeated, those that are free get its
  // defaults.
  void apply_preset(const Options& options) {
    auto fix = [&](const std::string& name, auto& value, const auto& preset_value) {
      if (options.given(name) && value != preset_value)
        throw UsageError("--" + name + ": '" + Json(value).dump() + "' is not allowed with --preset " +
                         preset + ", expected " + Json(preset_value).dump() + " or not to be given");
      value = preset_value;
    };
    auto prefer = [&](const std::string& name, auto& value, const auto& preset_value) {
      if (!options.given(name)) value = preset_value;
    };
    using S = flow::Synthetic;
    fix("classes", classes, std::int64_t{S::classes});
    fix("pool", pool, std::int64_t{S::distinct});
    fix("common", common, std::int64_t{S::common});
    fix("distinct-per-sequence", distinct_per_sequence, std::int64_t{22});  // of 62, on average
    fix("common-per-sequence", common_per_sequence, std::int64_t{40});
    fix("query", query, std::string("per-class"));
    fix("d", d, std::int64_t{S::vocabulary});
    fix("inner-dimension", inner_dimension, std::int64_t{S::vocabulary});
    fix("embedding", embedding, std::string("orthogonal"));
    fix("optimizer", optimizer, std::string("sgd"));
    fix("init", init, std::string("identity"));
    fix("step-size", step_size, 1.0);
    // Not used, but parameters of the result.
    fix("u0", u0, 0.05);
    fix("beta0", beta0, 0.05);
    fix("imbalance-qk", imbalance_qk, 0.0);
    fix("imbalance-ov", imbalance_ov, 0.0);
    fix("times", times, std::vector<double>{});
    prefer("eta-ov", eta_ov, 0.01);
    prefer("init-scale", init_scale, 1e-6);
    prefer("batch", batch, std::int64_t{32});
    using P = flow::Parameterization;
    if (preset == "fig2") {
      prefer("parameterization", parameterizations,
             std::vector<P>(std::begin(flow::kParameterizations), std::end(flow::kParameterizations)));
      prefer("steps", steps, std::int64_t{20000000});
      prefer("test-sequences", test_sequences, std::int64_t{10000});
      return;
    }
    prefer("parameterization", parameterizations, std::vector<P>{{false, false}, {false, true}});
    prefer("steps", steps, std::int64_t{500 * S::epoch});
    for (const P& p : parameterizations)
      if (p.factorized_qk)
        throw UsageError(
            "--parameterization: '" + p.name() +
            "' is not allowed with --preset fig3, where attention is frozen; expected CACO, CAFO");
    if (eta_qk || ratio != std::vector<double>{1.0})
      throw UsageError(std::string(eta_qk ? "--eta-qk" : "--ratio") +
                       " is not allowed with --preset fig3, where attention is frozen");
  }

  void finish(const Options& options) {
    if (preset != "none") apply_preset(options);
    FlowArguments::finish(options);
    if (preset != "none") return;
    const flow::Model m = model(parameterizations.front(), 1.0);
    const std::int64_t tokens = flow::vocabulary(m.task);
    if (d < tokens)
      throw UsageError("--d: '" + std::to_string(d) + "' is not allowed, expected at least " +
                       std::to_string(tokens) + ", the number of tokens");
    if (init == "aligned" && inner_dimension > 0 && inner_dimension < classes)
      throw UsageError("--inner-dimension: '" + std::to_string(inner_dimension) +
                       "' is not allowed with --init aligned, expected at least --classes " +
                       std::to_string(classes));
    for (const auto& [name, imbalance] : {std::pair("qk", imbalance_qk), std::pair("ov", imbalance_ov)})
      if (imbalance != 0 && init != "aligned")
        throw UsageError(std::string("--imbalance-") + name + ": '" + to_text(imbalance) +
                         "' is not allowed with --init " + init +
                         ", which sets the factors; expected --init aligned");
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

struct Quantity {
  const char* name;
  double Measurement::*value;
  double Measurement::*error;
};
constexpr Quantity kQuantities[] = {{"u", &Measurement::u, &Measurement::u_error},
                                    {"beta", &Measurement::beta, &Measurement::beta_error},
                                    {"p", &Measurement::attention, &Measurement::attention_error},
                                    {"margin", &Measurement::margin, &Measurement::margin_error},
                                    {"loss", &Measurement::loss, &Measurement::loss_error}};

Json coordinates(const flow::Parameterization& parameterization, double ratio) {
  return {{"parameterization", parameterization.name()}, {"ratio", ratio}};
}

void put_status(Json& record, flow::Status status, const std::string& reason) {
  record["status"] = flow::status_name(status);
  if (status != flow::Status::converged) record["reason"] = reason;
}

void put_measurement(Json& record, const Measurement& m) {
  record["step"] = m.step;
  put(record, "t", m.t);
  for (const Quantity& q : kQuantities) put(record, q.name, m.*q.value);
  for (const Quantity& q : kQuantities) put(record, q.name + std::string("_error"), m.*q.error);
  put(record, "off_line_ov", m.off_line_ov);
  put(record, "off_line_qk", m.off_line_qk);
}

// Largest differences to the reduced flow, which starts at the same point and follows the same gradient.
Json compare_with_flow(const flow::Model& model, const std::vector<Measurement>& measurements) {
  flow::Request request;
  request.interrupted = interrupted;
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

constexpr std::uint64_t kTestStream =
    0x5851f42d4c957f2dULL;  // test sequences are drawn apart from the training

Json attention_metrics(const Arguments& arguments, const std::vector<flow::SequenceMetrics>& sequences) {
  const flow::MetricSummary summary =
      flow::summarize(sequences, arguments.attention_threshold, arguments.probability_threshold,
                      static_cast<int>(arguments.bins));
  Json json;
  put_metrics(json, summary.mean);
  put_metrics(json, summary.standard_error, "_error");
  put(json, "AC", summary.attention_correct);
  put(json, "ACMC", summary.attention_and_model_correct);
  json["heatmap"] =
      Json::array();  // rows: bins of the attention mass, columns: of the true class's probability
  for (Eigen::Index i = 0; i < summary.heatmap.rows(); ++i) {
    Json row = Json::array();
    for (Eigen::Index j = 0; j < summary.heatmap.cols(); ++j) row.push_back(summary.heatmap(i, j));
    json["heatmap"].push_back(row);
  }
  return json;
}

// What is measured, and what the reduced model has at the same (u, beta).
Json attention_metrics(const Arguments& arguments, const flow::FullModel& full) {
  const flow::Task& task = full.model().task;
  const auto sequences =
      flow::draw_sequences(task, static_cast<int>(arguments.test_sequences),
                           static_cast<std::uint64_t>(arguments.run.seed) ^ kTestStream, interrupted);
  const int top =
      flow::top_count(arguments.top_fraction, task.distinct_per_sequence + task.common_per_sequence);
  const Measurement m = full.measure();
  Json json = attention_metrics(arguments, full.metrics(sequences, arguments.top_fraction));
  json["top_tokens"] = top;
  put_metrics(json, flow::reduced_metrics(full.model(), {m.u, m.beta}, top), "_reduced");
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

void print_preset_table(std::ostream& err, const std::vector<Json>& records) {
  Table table({"parameterization", "ratio", "attention held", "steps", "loss", "p", "status"});
  for (const Json& r : records) {
    auto number = [&](const std::string& key) {
      return r.contains(key) ? with_error(r[key], r.value(key + "_error", 0.0)) : "-";
    };
    table.add({r["parameterization"], number("ratio"), number("attention_fraction"), number("step"),
               number("loss"), number("p"), r["status"]});
  }
  table.print(err);
}

// One run of the synthetic experiment.
struct PresetRun {
  double ratio;
  flow::SyntheticTraining training;
  Json record, attention;  // null if interrupted
};

void run_preset(const Arguments& arguments, PresetRun& preset) {
  const flow::SyntheticTraining& training = preset.training;
  flow::SyntheticModel model(training);
  const flow::SyntheticRun trained = flow::train(model, interrupted);
  Json record = coordinates(training.parameterization, preset.ratio);
  put(record, "attention_fraction", training.frozen_attention);
  Json attention = record;
  put_status(record, trained.status, trained.reason);
  record["step"] = trained.steps;
  put(record, "t", static_cast<double>(trained.steps));
  if (trained.steps >= flow::Synthetic::epoch) {
    put(record, "loss", trained.loss);
    put(record, "loss_error", trained.loss_error);
  }
  if (arguments.test_sequences > 0) {
    std::mt19937_64 random(training.seed ^ kTestStream);
    const auto batch =
        flow::SyntheticModel::draw(static_cast<int>(arguments.test_sequences), random, interrupted);
    attention.update(attention_metrics(arguments, model.metrics(batch, arguments.top_fraction, interrupted)));
    if (!training.frozen_attention) {
      record["p"] = attention["mass"];
      record["p_error"] = attention["mass_error"];
    }
  }
  preset.record = record;
  preset.attention = attention;
}

int run_presets(const Arguments& arguments, const Options& options, Context& context) {
  results::Output output = arguments.run.open_output(context);
  results::Result result = new_result(options, arguments.run, context);
  std::vector<std::optional<double>> fractions{std::nullopt};
  if (arguments.preset == "fig3") fractions = {0.2, 0.4, 0.6, 0.8, 1.0};
  std::vector<PresetRun> runs;
  for (const flow::Parameterization& parameterization : arguments.parameterizations)
    for (const double ratio : arguments.ratio)
      for (const std::optional<double>& fraction : fractions) {
        flow::SyntheticTraining training;
        training.parameterization = parameterization;
        training.eta_ov = arguments.eta_ov;
        training.eta_qk = arguments.model(parameterization, ratio).eta_qk;
        training.init_scale = arguments.init_scale;
        training.batch = static_cast<int>(arguments.batch);
        training.steps = arguments.steps;
        if (!fraction) training.loss_target = 1e-3;
        training.frozen_attention = fraction;
        training.seed = static_cast<std::uint64_t>(arguments.run.seed);
        runs.push_back({ratio, training, {}, {}});
      }
  Progress progress(context, arguments.run, runs.size());
  std::mutex mutex;
  const auto work = [&](std::ptrdiff_t i) {
    run_preset(arguments, runs[static_cast<std::size_t>(i)]);
    const std::scoped_lock lock(mutex);
    progress.done("flow simulate: preset " + arguments.preset);
  };
  until_interrupt([&] {
    numerics::parallel_for(
        std::ssize(runs), static_cast<int>(arguments.run.threads), 1, [&] { return work; }, interrupted);
  });
  bool all_converged = true;
  Json attention = Json::array();
  for (const PresetRun& run : runs) {
    if (run.record.is_null()) {
      const auto& fraction = run.training.frozen_attention;
      result.missing.push_back(run.training.parameterization.name() + ", ratio " + to_text(run.ratio) +
                               (fraction ? ", attention " + to_text(*fraction) : ""));
      continue;
    }
    all_converged = all_converged && run.record["status"] == "converged";
    result.records.push_back(run.record);
    if (run.attention.contains("heatmap")) attention.push_back(run.attention);
  }
  if (!attention.empty()) result.summary["attention"] = attention;
  write_result(output, result, context);
  if (!arguments.run.quiet && !result.records.empty()) print_preset_table(context.err, result.records);
  return exit_code(all_converged);
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  if (arguments.preset != "none") return run_presets(arguments, options, context);
  results::Output output = arguments.run.open_output(context);
  results::Result result = new_result(options, arguments.run, context);

  const flow::Training training = arguments.training();
  const bool follows_flow =
      training.init == flow::Init::aligned && training.optimizer != flow::Optimizer::adamw;
  bool all_converged = true;
  Json comparison = Json::array(), attention = Json::array();
  Progress progress(context, arguments.run, arguments.parameterizations.size() * arguments.ratio.size());
  for (const flow::Parameterization& parameterization : arguments.parameterizations)
    for (const double ratio : arguments.ratio) {
      const std::string name = parameterization.name();
      const bool done = until_interrupt([&] {
        const flow::Model model = arguments.model(parameterization, ratio);
        flow::FullModel full(model, training, interrupted);
        std::optional<flow::Invariant> invariant;
        if (follows_flow) invariant.emplace(model);
        std::vector<Json> records;
        auto add_record = [&](flow::Status status, const std::string& reason, const Measurement* m) {
          Json record = coordinates(parameterization, ratio);
          put_status(record, status, reason);
          if (m != nullptr) put_measurement(record, *m);
          if (m != nullptr && invariant)
            put(record, "invariant_drift",
                invariant->drift(std::max(0.0, m->u - model.start.u), std::max(model.start.beta, m->beta)));
          records.push_back(record);
        };
        const flow::TrainingRun trained =
            flow::train(full, arguments.record_steps(),
                        [&](const Measurement& m) { add_record(flow::Status::converged, "", &m); });
        const bool whole = trained.status == flow::Status::converged;
        if (!whole)
          add_record(trained.status, trained.reason + "; the state is the last that was measured before",
                     trained.measurements.empty() ? nullptr : &trained.measurements.back());
        if (whole && arguments.test_sequences > 0) {
          Json metrics = coordinates(parameterization, ratio);
          metrics.update(attention_metrics(arguments, full));
          attention.push_back(metrics);
        }
        if (whole && follows_flow && !trained.measurements.empty()) {
          comparison.push_back(coordinates(parameterization, ratio));
          comparison.back().update(compare_with_flow(model, trained.measurements));
        }
        all_converged = all_converged && whole;
        std::move(records.begin(), records.end(), std::back_inserter(result.records));
        progress.done("flow simulate: " + name + ", ratio " + short_number(ratio));
      });
      if (!done) result.missing.push_back(name + ", ratio " + to_text(ratio));
    }
  if (follows_flow) result.summary["reduced_flow"] = comparison;
  if (arguments.test_sequences > 0) result.summary["attention"] = attention;
  write_result(output, result, context);
  if (!arguments.run.quiet && !result.records.empty()) print_table(context.err, result.records);
  return exit_code(all_converged);
}

}  // namespace

Command flow_simulate() {
  return make_command<Arguments>(
      "flow", "simulate", "Training of the one-layer model with full matrices",
      "qksolve flow simulate --parameterization all --ratio 0.1 --optimizer rk4 --steps "
      "800 -o simulation.json",
      run);
}

}  // namespace qksolve::app
