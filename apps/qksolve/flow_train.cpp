// qksolve flow train: the one-layer model on annotated text, one run per parameterization, ratio and seed.
#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>

#include "cli/task_store.hpp"
#include "cli/usage.hpp"
#include "commands.hpp"
#include "flow_arguments.hpp"
#include "flow_text.hpp"
#include "qksolve/flow/report/text_record.hpp"
#include "qksolve/numerics/task_farm.hpp"
#include "qksolve/results/text_file.hpp"

namespace qksolve::app {

namespace {

using results::Json;

constexpr std::int64_t kEpochs = 20, kMaxEpochs = 100;
constexpr std::int64_t kPositions = 128;  // where sentences end before the verb

struct Run {
  flow::Parameterization parameterization;
  double ratio = 1;
  std::int64_t seed = 0;

  Json coordinates() const {
    return {{"parameterization", parameterization.name()}, {"ratio", ratio}, {"seed", seed}};
  }
  std::string name() const {
    return parameterization.name() + ", ratio " + to_text(ratio) + ", seed " + std::to_string(seed);
  }
};

struct Arguments {
  TextArguments text;
  std::vector<flow::Parameterization> parameterizations{std::begin(flow::kParameterizations),
                                                        std::end(flow::kParameterizations)};
  std::vector<double> ratio{0, 0.1, 0.3, 1, 3, 10, 100};
  std::string ratio_by = "qk", optimizer = "sgd", init = "product", resume, export_path;
  double eta_ov = 1, init_scale = 0.3;
  std::optional<double> loss_target;
  std::int64_t batch = 32, epochs = kEpochs, max_epochs = kMaxEpochs, seeds = 1, vocabulary = 20000,
               inner_dimension = 16, positions = 0;
  flow::AttentionThresholds thresholds;
  RunArguments run;

  void declare(Options& options) {
    text.declare(options);
    declare_parameterizations(options, parameterizations, "all");
    options.grid("ratio", ratio, {0.0, 1e6},
                 "Learning rate of the query-key circuit over that of the output-value circuit; 0: attention "
                 "stays uniform");
    options.choice("ratio-by", ratio_by, {"qk", "ov", "both"},
                   "Which rate the ratio changes; the other is --eta-ov (both: it is their geometric mean)");
    options.real("eta-ov", eta_ov, kPositive, "Learning rate of the output-value circuit");
    options.choice("optimizer", optimizer, {"sgd", "adamw"},
                   "Stochastic gradient descent, or AdamW, where the ratio is that of normalised steps");
    options.integer("batch", batch, 1, 1000000, "Examples in a step");
    options.integer("epochs", epochs, 1, 100000, "Passes over the training examples, without --loss-target");
    options.text(
        "loss-target", "REAL", "", "Train to this loss of all training examples, > 0",
        [this](const std::string& word) { loss_target = parse_real("--loss-target", word, kPositive); },
        [this] { return loss_target ? Json(*loss_target) : Json(); });
    options.integer("max-epochs", max_epochs, 1, 100000, "At most so many, with --loss-target");
    options.integer("seeds", seeds, 1, 10000,
                    "Seeds of each arm, from --seed on; equal seeds have equal starts and orders");
    options.integer("vocabulary", vocabulary, 1, 10000000,
                    "Words at most, of those that come twice in training");
    options.integer("inner-dimension", inner_dimension, 1, 4096, "Of the factors");
    options.real("init-scale", init_scale, kPositive,
                 "s: entries of the factors are N(0, s^2/inner dimension), the query has length s");
    options.choice("init", init, {"product", "zero"},
                   "Start of collapsed circuits: product of the factors of the same seed, or zero");
    options.integer(
        "positions", positions, 0, 100000,
        "Distances from the end with a score of their own (agreement and linzen: 128 unless given)");
    options.real("attention-threshold", thresholds.attention, {0.0, 1.0},
                 "Attention is correct when its mass on relevant tokens exceeds this");
    options.real("probability-threshold", thresholds.probability, {0.0, 1.0},
                 "Attention and model are correct when the true class's probability exceeds this, too");
    options.real("top-fraction", thresholds.top_fraction, {0.0, 1.0, true, false},
                 "Share of the tokens that sufficiency keeps and comprehensiveness deletes, at least one");
    run.declare_seed(options);
    options.presentation();
    declare_resume(options, resume);
    options.path("export", export_path, "Write the text to this file as JSON Lines, and train nothing");
    run.declare_presentation(options);
  }

  void finish(const Options& options) {
    text.finish();
    if (!options.given("positions") && (text.task == "agreement" || text.task == "linzen"))
      positions = kPositions;
    // Repeated defaults are as they stand in a result.
    if (max_epochs != kMaxEpochs && !loss_target)
      throw UsageError("--max-epochs: '" + std::to_string(max_epochs) +
                       "' is not allowed without --loss-target, expected --epochs");
    if (epochs != kEpochs && loss_target)
      throw UsageError("--epochs: '" + std::to_string(epochs) +
                       "' is not allowed with --loss-target, expected --max-epochs");
    for (const double r : ratio)
      for (const double rate : {eta_qk(r), rate_ov(r)})
        if (!std::isfinite(rate))
          throw UsageError("--ratio: '" + to_text(r) + "' is not allowed with --eta-ov " + to_text(eta_ov) +
                           ", expected two rates that are numbers");
  }

  double rate_ov(double r) const {
    if (r == 0 || ratio_by == "qk") return eta_ov;
    return ratio_by == "ov" ? eta_ov / r : eta_ov / std::sqrt(r);
  }
  double eta_qk(double r) const { return r * rate_ov(r); }

  std::vector<Run> runs() const {
    std::vector<Run> found;
    for (const flow::Parameterization& parameterization : parameterizations)
      for (const double r : ratio)
        for (std::int64_t i = 0; i < seeds; ++i) found.push_back({parameterization, r, run.seed + i});
    return found;
  }

  Json train(const training::TokenizedText& data, const Run& r) const {
    flow::TokenModelOptions model_options;
    model_options.parameterization = r.parameterization;
    model_options.vocabulary = data.vocabulary;
    model_options.classes = data.classes;
    model_options.inner_dimension = static_cast<int>(inner_dimension);
    model_options.positions = static_cast<int>(positions);
    model_options.init_scale = init_scale;
    model_options.start_at_zero = init == "zero";
    model_options.uniform = r.ratio == 0;
    model_options.seed = static_cast<std::uint64_t>(r.seed);
    flow::TokenTraining training;
    training.optimizer = optimizer == "sgd" ? flow::Optimizer::sgd : flow::Optimizer::adamw;
    training.eta_ov = rate_ov(r.ratio);
    training.eta_qk = eta_qk(r.ratio);
    training.batch = static_cast<int>(batch);
    training.epochs = loss_target ? max_epochs : epochs;
    training.loss_target = loss_target;
    training.seed = static_cast<std::uint64_t>(r.seed);
    flow::TokenModel model(model_options);
    const flow::TokenRun trained = flow::train(model, data.training, training, interrupted);
    Json coordinates{{"task", text.task}};
    coordinates.update(r.coordinates());
    return results::text_run(coordinates, trained, flow::measure(model, data.validation, thresholds));
  }
};

Json describe(const training::AnnotatedText& text, const training::TokenizedText& data,
              const std::string& check) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(data.classes), 0);
  for (const std::int32_t label : data.training.labels) ++counts[static_cast<std::size_t>(label)];
  const auto majority = std::max_element(counts.begin(), counts.end()) - counts.begin();
  const auto right = std::count(data.validation.labels.begin(), data.validation.labels.end(), majority);
  Json left_out = Json::object();
  for (const auto& [why, count] : text.left_out) left_out[why] = count;
  return {{"training_examples", data.training.size()},
          {"validation_examples", data.validation.size()},
          {"training_tokens", data.training.tokens.size()},
          {"validation_tokens", data.validation.tokens.size()},
          {"classes", data.classes},
          {"vocabulary", data.vocabulary},
          {"known_words", data.known_words},
          {"majority_accuracy", static_cast<double>(right) / static_cast<double>(data.validation.size())},
          {"left_out", left_out},
          {"check", check}};
}

void print_tables(std::ostream& err, const Json& summary) {
  Table arms({"parameterization", "ratio", "runs", "train_loss", "accuracy", "mass", "uniform", "entropy",
              "sufficiency", "comprehensiveness", "beta"});
  for (const Json& row : summary.at("arms")) {
    const auto mean = [&](const char* key) {
      return row.contains(key) ? with_error(row[key], row.value(std::string(key) + "_error", 0.0)) : "-";
    };
    arms.add({row["parameterization"], short_number(row["ratio"]),
              row["converged"].dump() + "/" + row["runs"].dump(), mean("train_loss"), mean("accuracy"),
              mean("mass"), row.contains("uniform_mass") ? short_number(row["uniform_mass"], 3) : "-",
              mean("entropy"), mean("sufficiency"), mean("comprehensiveness"), mean("beta")});
  }
  arms.print(err);
  if (summary.at("claims").empty()) return;
  Table claims({"claim", "where", "quantity", "expected", "value", "95 % interval", "verdict"});
  for (const Json& row : summary.at("claims")) {
    const bool known = row.contains("value_low") && row.contains("value_high");
    claims.add(
        {row["claim"], row["where"], row["quantity"], row["expected"],
         row.contains("value") ? short_number(row["value"], 3) : "-",
         known ? "[" + short_number(row["value_low"], 3) + ", " + short_number(row["value_high"], 3) + "]"
               : "-",
         row["verdict"]});
  }
  claims.print(err);
}

int write_text(const std::string& path, const training::AnnotatedText& text) {
  results::TextFile(path).write([&](std::ostream& out) {
    training::write_annotated(text, [&](const std::string& line) { out << line; });
  });
  return kDone;
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  std::string check;
  if (!arguments.export_path.empty()) return write_text(arguments.export_path, arguments.text.read(check));
  results::Output output = arguments.run.open_output(context);
  Json description;
  const training::TokenizedText data = [&] {
    const training::AnnotatedText text = arguments.text.read(check);
    training::TokenizedText tokenized = training::tokenize(text, arguments.vocabulary);
    description = describe(text, tokenized, check);
    return tokenized;
  }();
  // What all runs of a study have in common. Where a text lies is not what it is.
  Json common{{"schema", options.schema()}, {"parameters", options.parameters()}};
  for (const char* key : {"parameterization", "ratio", "seeds", "seed"}) common["parameters"].erase(key);
  common["parameters"]["data"] = check;
  const std::vector<Run> runs = arguments.runs();
  std::vector<std::string> ids;
  std::vector<std::size_t> wanted;
  for (const Run& r : runs) {
    Json definition = common;
    definition["parameters"].update(r.coordinates());
    wanted.push_back(ids.size());
    ids.push_back(results::task_id(definition));
  }
  TaskStore store(work_file(arguments.resume, arguments.run), common, arguments.run, context);
  const std::vector<std::size_t> tasks = store.unfinished(wanted, ids);
  Progress progress(context, arguments.run, tasks.size());
  until_interrupt([&] {
    numerics::run_tasks(
        tasks, static_cast<int>(arguments.run.threads),
        [&](std::size_t i) { return arguments.train(data, runs[i]).dump(); },
        [&](std::size_t i, const std::string& found) {
          store.add(ids[i], found);
          progress.done("flow train: " + runs[i].name());
        },
        interrupted);
  });
  // What is kept in a work file needs no other place.
  if (interrupted() && store.in_file()) {
    store.tell_interruption(wanted, ids);
    return kInterrupted;
  }

  results::Result result = new_result(options, arguments.run, context);
  std::vector<Json> found;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (std::optional<Json> kept = store.find(ids[i])) {
      result.records.push_back(kept->at("record"));
      found.push_back(std::move(*kept));
    } else {
      result.missing.push_back(runs[i].name());
    }
  }
  result.summary = {{"data", description}};
  result.summary.update(results::summarize_text(found));
  write_result(output, result, context);
  if (!arguments.run.quiet && !result.records.empty()) print_tables(context.err, result.summary);
  if (store.in_file() && arguments.resume.empty()) store.remove_file();
  return exit_code(result.records);
}

}  // namespace

Command flow_train() {
  return make_command<Arguments>(
      "flow", "train",
      "The one-layer model on annotated text: attention and accuracy against the rates' ratio",
      "qksolve flow train --task glosses --data corpora/wordnet --seeds 8 --loss-target 1.2 -o glosses.json",
      run);
}

}  // namespace qksolve::app
