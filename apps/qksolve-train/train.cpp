// qksolve coupled train: small transformers on associative recall and on text, one run per variant and seed.
#include "train.hpp"

#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <optional>
#include <ostream>

#include "corpus.hpp"
#include "qksolve/numerics/task_farm.hpp"
#include "qksolve/results/text_file.hpp"
#include "qksolve/results/training_summary.hpp"
#include "qksolve/training/mqar.hpp"
#include "qksolve/training/text.hpp"
#include "qksolve/transformer/training.hpp"
#include "task_store.hpp"
#include "usage.hpp"

namespace qksolve::app {

namespace {

using results::Json;
using transformer::Ending;
using transformer::TrainingRun;
using transformer::Variant;

constexpr double kSolved = 0.9;

struct Difficulty {
  const char* name;
  std::int64_t context, pairs, vocabulary;
};
constexpr Difficulty kDifficulties[] = {{"easy", 32, 4, 128}, {"medium", 64, 8, 256}, {"hard", 128, 16, 512}};
constexpr std::int64_t kTextContext = 256, kWords = 4096, kBytes = 256;

template <class Range, class Name>
std::vector<std::string> names(const Range& range, const Name& name) {
  std::vector<std::string> found;
  for (const auto& item : range) found.push_back(name(item));
  return found;
}

std::string describe(const Difficulty& d) {
  return std::string(d.name) + ": context " + std::to_string(d.context) + ", " + std::to_string(d.pairs) +
         " pairs, " + std::to_string(d.vocabulary) + " tokens";
}

// One model: what is varied in a study.
struct Run {
  Variant variant = Variant::standard;
  std::optional<std::int64_t> coupling_steps;
  std::int64_t seed = 0;

  Json coordinates() const {
    Json json{{"variant", transformer::variant_name(variant)}};
    if (coupling_steps) json["coupling_steps"] = *coupling_steps;
    json["seed"] = seed;
    return json;
  }
  // Without the seed.
  std::string kind() const {
    return transformer::variant_name(variant) +
           (coupling_steps ? "-n" + std::to_string(*coupling_steps) : "");
  }
  std::string name() const { return kind() + "-seed" + std::to_string(seed); }
};

struct Arguments {
  std::string task = "mqar", difficulty = "medium";
  std::optional<std::int64_t> context, pairs, vocabulary, hidden;
  std::string corpus, level = "word";
  bool shuffle_sentences = false;
  std::vector<std::string> variants = names(transformer::kVariants, transformer::variant_name);
  std::vector<std::int64_t> coupling_steps{1};
  std::int64_t seeds = 1, d = 64, layers = 2, heads = 1;
  double step_size = 0.3, embedding_scale = 0.3;
  std::string force = "shared", positions = "rotary", token_shift = "previous";
  std::int64_t steps = 400, batch = 64, evaluate_every = 20, validation = 128;
  double learning_rate = 1e-3, weight_decay = 0.01;
  bool trajectory = false;
  std::string resume, checkpoints;
  std::int64_t checkpoint_every = 100;
  RunArguments run;

  training::Task data;  // made by `finish`
  Json corpus_summary;  // null without a corpus
  std::string corpus_check;

  void declare(Options& options) {
    options.choice("task", task, {"mqar", "text"},
                   "Multi-query associative recall, or language modelling on --corpus");
    std::string presets;
    for (const Difficulty& d : kDifficulties) presets += (presets.empty() ? "" : "; ") + describe(d);
    options.choice("difficulty", difficulty, names(kDifficulties, [](const Difficulty& d) { return d.name; }),
                   "Of mqar (" + presets + ")");
    whole(options, "context", context, 4, 16384, "Tokens that attend to each other",
          "mqar: of --difficulty, text: " + std::to_string(kTextContext));
    whole(options, "pairs", pairs, 1, 4096, "Pairs of a key and its value in a sequence of mqar",
          "of --difficulty");
    whole(options, "vocabulary", vocabulary, 4, 1000000, "Tokens; words: the most frequent ones",
          "mqar: of --difficulty, words: " + std::to_string(kWords));
    options.input("corpus", corpus,
                  "Text: a folder, every file a document, or a file, whose paragraphs are documents");
    options.choice("level", level, {"word", "byte"}, "Tokens of a text");
    options.flag("shuffle-sentences", shuffle_sentences,
                 "Let all sentences of a text change places at random: its words stay, its coherence goes");
    options.choices("variant", variants, variants, "Attention");
    options.integers("coupling-steps", coupling_steps, 1, 100, "Steps n of the integrator");
    options.integer("seeds", seeds, 1, 100000, "Runs per variant, with seeds --seed, --seed + 1, ...");
    run.declare_seed(options);
    options.integer("d", d, 2, 4096, "Dimension of the model");
    options.integer("layers", layers, 1, 64, "Layers");
    options.integer("heads", heads, 1, 256, "Heads of a layer");
    whole(options, "hidden", hidden, 1, 65536, "Hidden units of the force between queries and keys",
          "the dimension of a head");
    options.real("step-size", step_size, {-100.0, 100.0},
                 "Step size h of the integrator before training, which learns it");
    options.choice("force", force, {"shared", "per-head"}, "One force for all heads of a layer, or one each");
    options.choice("positions", positions, {"rotary", "learned"}, "Position encoding");
    options.choice("token-shift", token_shift, {"previous", "none"},
                   "Whether attention also reads the previous token, weighted channel by channel");
    options.real("embedding-scale", embedding_scale, {1e-6, 1000.0},
                 "Standard deviation of the embeddings before training");
    options.integer("steps", steps, 1, 1000000000, "Optimisation steps (AdamW)");
    options.integer("batch", batch, 1, 1000000, "Sequences a step");
    options.real(
        "learning-rate", learning_rate, {0.0, 1e6, true, false},
        "Largest learning rate: rises over the first twentieth of the steps, falls as a cosine to a tenth");
    options.real("weight-decay", weight_decay, {0.0, 1000.0}, "Weight decay of the matrices");
    options.integer("evaluate-every", evaluate_every, 1, 1000000000, "Steps between evaluations");
    options.integer("validation", validation, 2, 1000000, "Validation sequences, at most");
    options.flag("trajectory", trajectory, "Also write the evaluations along the way");
    options.presentation();
    declare_resume(options, resume);
    options.text(
        "checkpoints", "FOLDER", "",
        "Folder for the states of unfinished runs (default: the name of the output, or of the work file, and "
        ".checkpoints, removed at the end)",
        [this](const std::string& t) {
          if (t.empty()) throw UsageError("--checkpoints: '' is not allowed, expected the name of a folder");
          checkpoints = t;
        },
        [] { return Json(); });
    options.integer("checkpoint-every", checkpoint_every, 1, 1000000000,
                    "Steps after which the state of a run is saved");
    run.declare_presentation(options);
  }

  void finish(const Options& options) {
    const bool text = task == "text";
    auto only = [&](bool allowed, const char* option, const char* with) {
      if (!allowed && options.given(option))
        throw UsageError(std::string("--") + option + ": is not allowed here, expected " + with);
    };
    for (const char* option : {"difficulty", "pairs"}) only(!text, option, "--task mqar");
    for (const char* option : {"corpus", "level", "shuffle-sentences"}) only(text, option, "--task text");
    only(level == "word", "vocabulary", "--level word");
    const auto preset = std::find_if(std::begin(kDifficulties), std::end(kDifficulties),
                                     [&](const Difficulty& p) { return p.name == difficulty; });
    context = context.value_or(text ? kTextContext : preset->context);
    vocabulary = vocabulary.value_or(!text ? preset->vocabulary : level == "word" ? kWords : kBytes);
    if (!text) pairs = pairs.value_or(preset->pairs);
    const bool all_sizes = options.given("context") && options.given("pairs") && options.given("vocabulary");
    if (options.given("difficulty") && all_sizes)
      throw UsageError(
          "--difficulty: '" + difficulty +
          "' says nothing where --context, --pairs and --vocabulary are given, expected one or the other");
    check_dimensions();
    if (seeds - 1 > std::numeric_limits<std::int64_t>::max() - run.seed)
      throw UsageError("--seeds: " + std::to_string(seeds) + " is not allowed with --seed " +
                       std::to_string(run.seed) + ", expected seeds up to " +
                       std::to_string(std::numeric_limits<std::int64_t>::max()));
    hidden = hidden.value_or(d / heads);
    if (options.given("checkpoint-every") && checkpoint_folder().empty())
      throw UsageError(
          "--checkpoint-every: " + std::to_string(checkpoint_every) +
          " needs a place for checkpoints, expected -o FILE, --resume FILE or --checkpoints FOLDER");
    if (!text) return make_recall();
    check_places();
    read_corpus();
  }

  // Empty: none are written.
  std::string checkpoint_folder() const {
    const std::string work = work_file(resume, run);
    if (!checkpoints.empty() || work.empty()) return checkpoints;
    return (run.output.empty() ? work : run.output) + ".checkpoints";
  }

  // Variants and numbers of steps in their order, seeds inside.
  std::vector<Run> runs() const {
    std::vector<Run> all;
    for (const Variant variant : transformer::kVariants) {
      if (std::find(variants.begin(), variants.end(), transformer::variant_name(variant)) == variants.end())
        continue;
      const std::size_t numbers = transformer::evolves(variant) ? coupling_steps.size() : 1;
      for (std::size_t i = 0; i < numbers; ++i)
        for (std::int64_t k = 0; k < seeds; ++k)
          all.push_back({variant,
                         transformer::evolves(variant) ? std::optional(coupling_steps[i]) : std::nullopt,
                         run.seed + k});
    }
    return all;
  }

  // Of the result: without what the task does not use, with what was chosen for it.
  Json parameters(const Options& options) const {
    Json json = options.parameters();
    json.erase("difficulty");  // its sizes are there
    for (const char* key :
         task == "text" ? std::vector{"pairs"} : std::vector{"corpus", "level", "shuffle_sentences"})
      json.erase(key);
    if (task == "text" && level == "byte") json.erase("vocabulary");
    return json;
  }

  transformer::ModelOptions model(const Run& r) const {
    transformer::ModelOptions m;
    m.variant = r.variant;
    m.vocabulary = data.vocabulary;
    m.context = *context;
    m.layers = layers;
    m.dimension = d;
    m.heads = heads;
    m.hidden = hidden.value_or(d / heads);
    m.coupling_steps = static_cast<int>(r.coupling_steps.value_or(1));
    m.step_size = step_size;
    m.per_head = force == "per-head";
    m.rotary = positions == "rotary";
    m.token_shift = token_shift == "previous";
    m.embedding_scale = embedding_scale;
    m.seed = static_cast<std::uint64_t>(r.seed);
    return m;
  }

  transformer::TrainingOptions training_options() const {
    transformer::TrainingOptions t;
    t.steps = steps;
    t.batch = batch;
    t.learning_rate = learning_rate;
    t.weight_decay = weight_decay;
    t.evaluate_every = evaluate_every;
    return t;
  }

 private:
  static void whole(Options& options, const std::string& name, std::optional<std::int64_t>& target,
                    std::int64_t low, std::int64_t high, const std::string& meaning,
                    const std::string& otherwise) {
    options.text(
        name, "INT", otherwise, meaning + ", " + std::to_string(low) + " to " + std::to_string(high),
        [=, &target](const std::string& t) { target = parse_integer("--" + name, t, low, high); },
        [&target] { return target ? Json(*target) : Json(); });
  }

  void check_dimensions() const {
    const auto refuse = [&](const std::string& why) {
      throw UsageError("--heads: " + std::to_string(heads) + " is not allowed with --d " + std::to_string(d) +
                       ", " + why);
    };
    if (d % heads != 0) refuse("expected a divisor of it");
    if (d / heads % 2 != 0) refuse("expected an even dimension of a head");
    if (std::find(variants.begin(), variants.end(), "differential") != variants.end() && d / heads % 4 != 0)
      refuse("expected a dimension of a head that is a multiple of 4, for differential attention");
  }

  // What is written into a corpus would become part of it.
  void check_places() const {
    namespace fs = std::filesystem;
    if (!fs::is_directory(corpus)) return;
    const std::string inside = fs::canonical(corpus).string() + "/";
    for (const auto& [option, path] :
         {std::pair("--output", run.output), std::pair("--csv", run.csv), std::pair("--resume", resume),
          std::pair("--checkpoints", checkpoints)})
      if (!path.empty() && fs::weakly_canonical(fs::absolute(path)).string().starts_with(inside))
        throw UsageError(std::string(option) + ": '" + path + "' lies in the corpus '" + corpus +
                         "', expected another place");
  }

  void make_recall() {
    const training::Recall recall{*context, *pairs, *vocabulary};
    if (*context < 4 * *pairs)
      throw UsageError("--pairs: " + std::to_string(*pairs) + " is not allowed with --context " +
                       std::to_string(*context) + ", expected at most a quarter of it");
    if (*vocabulary / 2 - 1 < *pairs)
      throw UsageError("--vocabulary: " + std::to_string(*vocabulary) + " is too small for --pairs " +
                       std::to_string(*pairs) + ", expected at least " + std::to_string(2 * *pairs + 2));
    data = training::recall_task(recall, validation);
  }

  void read_corpus() {
    if (corpus.empty())
      throw UsageError("--corpus: is missing, expected a file or folder of text for --task text");
    const std::vector<std::string> documents = read_documents(corpus);
    training::TextOptions options;
    options.level = level == "byte" ? training::Level::byte : training::Level::word;
    options.context = *context;
    options.vocabulary = *vocabulary;
    options.shuffle_sentences = shuffle_sentences;
    try {
      const training::Text text = training::make_text(documents, options);
      corpus_summary = {{"documents", text.documents},
                        {"training_tokens", text.training.size()},
                        {"validation_tokens", text.validation.size()},
                        {"vocabulary", text.vocabulary},
                        {"known_words", text.known_words}};
      data = training::text_task(text, *context, validation);
    } catch (const training::TextError& error) {
      throw results::ContentError(corpus + ": " + error.what());
    }
    corpus_check = results::task_id(Json(documents));
    corpus_summary["check"] = corpus_check;
    corpus_summary["validation_blocks"] = data.validation_sequences;
  }
};

// Everything that a run has in common with the others of its study.
Json common_definition(const Arguments& arguments, const Options& options) {
  Json parameters = arguments.parameters(options);
  for (const char* key : {"variant", "coupling_steps", "seeds", "seed", "trajectory"}) parameters.erase(key);
  // Where a text lies is not what it is.
  if (parameters.contains("corpus")) parameters["corpus"] = arguments.corpus_check;
  return {{"schema", options.schema()}, {"parameters", parameters}};
}

Json definition(const Json& common, const Run& run) {
  Json json = common;
  json["parameters"].update(run.coordinates());
  return json;
}

Json evaluation(const Arguments& arguments, const transformer::Evaluation& e) {
  Json json{{"step", e.step}, {"tokens", e.step * arguments.batch * *arguments.context}};
  results::put(json, "loss", e.loss);
  results::put(json, "loss_error", e.loss_error);
  if (arguments.task == "mqar") {
    results::put(json, "accuracy", e.accuracy);
    results::put(json, "accuracy_error", e.accuracy_error);
  } else {
    results::put(json, "perplexity", std::exp(e.loss));
    results::put(json, "perplexity_error", std::exp(e.loss) * e.loss_error);
  }
  return json;
}

// What is kept of a run: its record, its curve and the time it took.
Json found(const Arguments& arguments, const Run& run, const TrainingRun& trained) {
  Json record{{"task", arguments.task}};
  record.update(run.coordinates());
  const bool finite = trained.ending == Ending::finished;
  record["status"] = finite ? "converged" : "non_finite";
  if (!finite)
    record["reason"] = "the loss or its gradient is not finite after step " + std::to_string(trained.steps);
  record["parameter_count"] = trained.parameter_count;
  record["steps"] = trained.steps;
  record["tokens"] = trained.steps * arguments.batch * *arguments.context;
  Json curve = Json::array();
  for (const transformer::Evaluation& e : trained.curve) curve.push_back(evaluation(arguments, e));
  if (finite) {
    Json last = curve.back();
    last.erase("step");
    record.update(last);
  }
  if (arguments.task == "mqar")
    for (std::size_t i = 0; i < curve.size(); ++i)
      if (curve[i].at("accuracy") >= kSolved) {
        // Somewhere since the evaluation before.
        const std::int64_t step = curve[i].at("step"),
                           before = i == 0 ? 0 : curve[i - 1].at("step").get<std::int64_t>();
        record["steps_to_solve"] = step;
        record["steps_to_solve_error"] = step - before;
        break;
      }
  for (std::size_t i = 0; i < trained.layers.size(); ++i) {
    const transformer::LayerMeasurement& layer = trained.layers[i];
    const std::string of = "_" + std::to_string(i + 1);
    results::put(record, "step_size" + of, layer.step_size);
    results::put(record, "entropy" + of, layer.entropy);
    results::put(record, "entropy" + of + "_error", layer.entropy_error);
    results::put(record, "sigma_ratio" + of, layer.sigma_ratio);
    results::put(record, "sigma_ratio" + of + "_error", layer.sigma_ratio_error);
  }
  return {{"record", record}, {"curve", curve}, {"seconds", trained.seconds}};
}

transformer::Checkpoints checkpoints_at(const std::string& path, std::int64_t every,
                                        const Json& configuration) {
  transformer::Checkpoints c;
  c.every = every;
  c.configuration = configuration.dump();
  c.load = [path]() -> std::optional<std::string> {
    if (!std::filesystem::exists(path)) return std::nullopt;
    return results::read_file(path);
  };
  c.save = [path](const std::function<void(std::ostream&)>& write) { results::TextFile(path).write(write); };
  c.refuse = [path, configuration](const std::string& other) {
    results::require_header(path, Json::parse(other, nullptr, false), configuration);
  };
  return c;
}

TrainingRun train(const Arguments& arguments, const Run& run, const std::string& checkpoint,
                  const Json& configuration, const std::function<bool()>& stop,
                  const std::function<void(const transformer::Evaluation&)>& evaluated) {
  transformer::Checkpoints checkpoints;
  if (!checkpoint.empty())
    checkpoints = checkpoints_at(checkpoint, arguments.checkpoint_every, configuration);
  try {
    return transformer::train(arguments.model(run), arguments.training_options(), arguments.data, checkpoints,
                              stop, evaluated);
  } catch (const transformer::CheckpointError& error) {
    throw results::ContentError(checkpoint + ": " + error.what());
  } catch (const transformer::MemoryError&) {
    throw UsageError("--batch: " + std::to_string(arguments.batch) + " with --context " +
                     std::to_string(*arguments.context) + ", --d " + std::to_string(arguments.d) +
                     " and --layers " + std::to_string(arguments.layers) +
                     " needs more memory than there is, expected smaller ones");
  }
}

// Throws where checkpoints cannot be written, or one that is there cannot be used: known before anything is
// computed, or written.
void check_checkpoints(const std::string& folder, const std::vector<std::string>& paths,
                       const std::vector<Json>& configurations) {
  if (!std::filesystem::exists(folder)) return;
  if (!std::filesystem::is_directory(folder))
    throw results::FileError("cannot write to '" + folder + "': it is not a folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw results::FileError("cannot write to '" + folder + "': " + std::strerror(errno));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    try {
      transformer::check_checkpoint(checkpoints_at(paths[i], 1, configurations[i]));
    } catch (const transformer::CheckpointError& error) {
      throw results::ContentError(paths[i] + ": " + error.what());
    }
  }
}

std::string interval(const Json& row, const std::string& key) {
  for (const char* end : {"", "_low", "_high"})
    if (!row.contains(key + end)) return "-";
  return short_number(row[key], 3) + " [" + short_number(row[key + "_low"], 3) + ", " +
         short_number(row[key + "_high"], 3) + "]";
}

// `speeds`: tokens a second of every kind of run, in the order of the summary.
void print_summary(std::ostream& err, const Json& summary, const std::vector<double>& speeds, bool text) {
  Table table(text ? std::vector<std::string>{"variant", "n", "parameters", "runs", "perplexity", "spread",
                                              "% to standard", "% to uncoupled", "tokens to standard's",
                                              "tokens/s"}
                   : std::vector<std::string>{"variant", "n", "parameters", "runs", "solved", "accuracy",
                                              "median steps to 90 %", "loss to standard", "loss to uncoupled",
                                              "tokens/s"});
  std::size_t count = 0;
  for (const Json& row : summary["variants"]) {
    auto number = [&](const char* key, int digits) {
      return row.contains(key) ? short_number(row[key], digits) : std::string("-");
    };
    auto mean = [&](const std::string& key) {
      return row.contains(key) ? with_error(row[key], row.value(key + "_error", 0.0)) : std::string("-");
    };
    std::vector<std::string> cells{row["variant"], number("coupling_steps", 6), number("parameter_count", 9),
                                   row["converged"].dump() + "/" + row["runs"].dump()};
    if (text)
      cells.insert(cells.end(), {mean("perplexity"), number("perplexity_spread", 2),
                                 interval(row, "perplexity_change_to_standard"),
                                 interval(row, "perplexity_change_to_uncoupled"), mean("tokens_ratio")});
    else
      cells.insert(cells.end(),
                   {number("solved", 6), mean("accuracy"), number("median_steps_to_solve", 6),
                    interval(row, "difference_to_standard"), interval(row, "difference_to_uncoupled")});
    cells.push_back(short_number(speeds.at(count++), 3));
    table.add(cells);
  }
  table.print(err);
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  const bool fast = transformer::prepare_library();
  if (!fast && !arguments.run.quiet)
    context.err << "qksolve: matrix products are not those of OpenBLAS and slow, libopenblas0 would help\n";
  results::Output output = arguments.run.open_output(context);
  const std::vector<Run> runs = arguments.runs();
  const Json common = common_definition(arguments, options);
  const std::string folder = arguments.checkpoint_folder();
  std::vector<Json> definitions;
  std::vector<std::string> ids, checkpoints;
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    definitions.push_back(definition(common, runs[i]));
    ids.push_back(results::task_id(definitions[i]));
    if (!folder.empty()) checkpoints.push_back(folder + "/" + runs[i].name() + ".pt");
    wanted.push_back(i);
  }
  if (!folder.empty()) check_checkpoints(folder, checkpoints, definitions);
  TaskStore store(work_file(arguments.resume, arguments.run), common, arguments.run, context);
  const std::vector<std::size_t> tasks = store.unfinished(wanted, ids);
  if (!folder.empty() && !tasks.empty()) std::filesystem::create_directories(folder);
  {
    const std::int64_t evaluations =
        (arguments.steps + arguments.evaluate_every - 1) / arguments.evaluate_every;
    Progress progress(context, arguments.run, tasks.size() * static_cast<std::size_t>(evaluations));
    std::mutex mutex;  // of the progress and the store
    std::atomic<bool> failed = false;
    auto finish = [&](std::size_t i, const TrainingRun& trained) {
      if (trained.ending == Ending::interrupted) return;
      const std::scoped_lock lock(mutex);
      store.add(ids[i], found(arguments, runs[i], trained).dump());
      // The last good state of a run that failed is kept.
      if (!folder.empty() && trained.ending == Ending::finished) std::filesystem::remove(checkpoints[i]);
    };
    // A run that has finished is kept even where an interruption, or the failure of another one, ends them
    // all; the others stop at their next step, and save their states.
    numerics::run_tasks(
        tasks, static_cast<int>(arguments.run.threads),
        [&](std::size_t i) -> std::string {
          try {
            finish(i, train(
                          arguments, runs[i], folder.empty() ? "" : checkpoints[i], definitions[i],
                          [&] { return interrupted() || failed; },
                          [&](const transformer::Evaluation& e) {
                            const std::scoped_lock lock(mutex);
                            progress.done("coupled train: " + runs[i].name() + ", step " +
                                          std::to_string(e.step) + ", loss " + short_number(e.loss, 4));
                          }));
          } catch (...) {
            failed = true;
            throw;
          }
          return "finished";
        },
        [](std::size_t, const std::string&) {}, interrupted);
  }
  // What is kept in a work file needs no other place.
  if (interrupted() && store.in_file()) return kInterrupted;

  results::Result result = new_result(options, arguments.run, context);
  result.parameters = arguments.parameters(options);
  result.provenance.further_libraries["libtorch"] = TORCH_VERSION;
  std::vector<results::TrainedModel> models;
  struct Effort {
    double tokens = 0, seconds = 0;
  };
  std::vector<std::pair<std::string, Effort>> efforts;  // of the kinds of runs, in order
  if (arguments.trajectory) result.trace.emplace();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::optional<Json> kept = store.find(ids[i]);
    if (!kept) continue;
    const Json& record = kept->at("record");
    result.records.push_back(record);
    models.push_back({record, kept->at("curve").get<std::vector<Json>>()});
    if (efforts.empty() || efforts.back().first != runs[i].kind())
      efforts.emplace_back(runs[i].kind(), Effort());
    efforts.back().second.tokens += record.at("tokens").get<double>();
    efforts.back().second.seconds += kept->at("seconds").get<double>();
    if (!result.trace) continue;
    for (const Json& point : kept->at("curve")) {
      Json row = runs[i].coordinates();
      row.update(point);
      result.trace->push_back(row);
    }
  }
  result.summary = results::summarize_training(models);
  if (!arguments.corpus_summary.is_null()) result.summary["corpus"] = arguments.corpus_summary;
  std::vector<double> speeds;
  for (const auto& [kind, spent] : efforts) {
    speeds.push_back(spent.seconds > 0 ? spent.tokens / spent.seconds : 0);
    result.provenance.measurements["tokens_per_second"][kind] = speeds.back();
  }
  output.write(result);
  if (!arguments.run.quiet && !result.records.empty())
    print_summary(context.err, result.summary, speeds, arguments.task == "text");
  if (store.in_file() && arguments.resume.empty()) store.remove_file();
  // Of ours alone, and only where no run left a state.
  std::error_code not_empty;
  if (arguments.checkpoints.empty() && !folder.empty()) std::filesystem::remove(folder, not_empty);
  return exit_code(std::all_of(result.records.begin(), result.records.end(),
                               [](const Json& r) { return r["status"] == "converged"; }));
}

}  // namespace

void add_train(CLI::App& coupled, Context& context) {
  add_command<Arguments>(coupled, context, "train",
                         "Small transformers with standard, coupled, uncoupled and differential attention",
                         "qksolve coupled train --task mqar --seeds 8 -o mqar.json", run);
}

}  // namespace qksolve::app
