#include "arguments.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "cli/task_store.hpp"
#include "cli/usage.hpp"
#include "corpus.hpp"
#include "qksolve/data/mqar.hpp"
#include "qksolve/data/text.hpp"
#include "qksolve/results/work_file.hpp"

namespace qksolve::app {

using results::Json;
using transformer::Variant;

namespace {

struct Difficulty {
  const char* name;
  std::int64_t context, pairs, vocabulary;
};
constexpr Difficulty kDifficulties[] = {{"easy", 32, 4, 128}, {"medium", 64, 8, 256}, {"hard", 128, 16, 512}};
constexpr std::int64_t kTextContext = 256, kWords = 4096, kBytes = 256;

std::string describe(const Difficulty& d) {
  return std::string(d.name) + ": context " + std::to_string(d.context) + ", " + std::to_string(d.pairs) +
         " pairs, " + std::to_string(d.vocabulary) + " tokens";
}

}  // namespace

void TrainArguments::declare(Options& options) {
  options.choice("task", task, {"mqar", "text"},
                 "Multi-query associative recall, or language modelling on --corpus");
  std::string presets;
  for (const Difficulty& d : kDifficulties) presets += (presets.empty() ? "" : "; ") + describe(d);
  options.choice("difficulty", difficulty,
                 names_of(kDifficulties, [](const Difficulty& d) { return d.name; }),
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

void TrainArguments::finish(const Options& options) {
  const bool text = task == "text";
  auto only = [&](bool allowed, const char* option, const std::string& here, const char* expected) {
    if (!allowed && options.given(option))
      throw UsageError(std::string("--") + option + ": is not allowed with " + here + ", expected " +
                       expected);
  };
  for (const char* option : {"difficulty", "pairs"}) only(!text, option, "--task text", "--task mqar");
  for (const char* option : {"corpus", "level", "shuffle-sentences"})
    only(text, option, "--task mqar", "--task text");
  only(level == "word", "vocabulary", "--level byte", "--level word");
  const auto preset = std::find_if(std::begin(kDifficulties), std::end(kDifficulties),
                                   [&](const Difficulty& p) { return p.name == difficulty; });
  context = context.value_or(text ? kTextContext : preset->context);
  vocabulary = vocabulary.value_or(!text ? preset->vocabulary : level == "word" ? kWords : kBytes);
  if (!text) pairs = pairs.value_or(preset->pairs);
  const bool all_sizes = options.given("context") && options.given("pairs") && options.given("vocabulary");
  const bool of_preset =
      context == preset->context && pairs == preset->pairs && vocabulary == preset->vocabulary;
  if (options.given("difficulty") && all_sizes && !of_preset)
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

std::string TrainArguments::checkpoint_folder() const {
  const std::string work = work_file(resume, run);
  if (!checkpoints.empty() || work.empty()) return checkpoints;
  return (run.output.empty() ? work : run.output) + ".checkpoints";
}

std::vector<ModelRun> TrainArguments::runs() const {
  std::vector<ModelRun> all;
  for (const Variant variant : transformer::kVariants) {
    if (std::find(variants.begin(), variants.end(), transformer::variant_name(variant)) == variants.end())
      continue;
    std::vector<std::optional<std::int64_t>> numbers{std::nullopt};  // of steps
    if (transformer::evolves(variant)) numbers.assign(coupling_steps.begin(), coupling_steps.end());
    for (const std::optional<std::int64_t>& n : numbers)
      for (std::int64_t k = 0; k < seeds; ++k) all.push_back({variant, n, run.seed + k});
  }
  return all;
}

Json TrainArguments::parameters(const Options& options) const {
  Json json = options.parameters();
  json.erase("difficulty");  // its sizes are there
  for (const char* key :
       task == "text" ? std::vector{"pairs"} : std::vector{"corpus", "level", "shuffle_sentences"})
    json.erase(key);
  if (task == "text" && level == "byte") json.erase("vocabulary");
  return json;
}

transformer::ModelOptions TrainArguments::model(const ModelRun& r) const {
  transformer::ModelOptions m;
  m.variant = r.variant;
  m.vocabulary = data.vocabulary;
  m.context = *context;
  m.layers = layers;
  m.dimension = d;
  m.heads = heads;
  m.hidden = *hidden;
  m.coupling_steps = static_cast<int>(r.coupling_steps.value_or(1));
  m.step_size = step_size;
  m.per_head = force == "per-head";
  m.rotary = positions == "rotary";
  m.token_shift = token_shift == "previous";
  m.embedding_scale = embedding_scale;
  m.seed = static_cast<std::uint64_t>(r.seed);
  return m;
}

transformer::TrainingOptions TrainArguments::training_options() const {
  transformer::TrainingOptions t;
  t.steps = steps;
  t.batch = batch;
  t.learning_rate = learning_rate;
  t.weight_decay = weight_decay;
  t.evaluate_every = evaluate_every;
  return t;
}

void TrainArguments::whole(Options& options, const std::string& name, std::optional<std::int64_t>& target,
                           std::int64_t low, std::int64_t high, const std::string& meaning,
                           const std::string& otherwise) {
  options.text(
      name, "INT", otherwise, meaning + ", " + std::to_string(low) + " to " + std::to_string(high),
      [=, &target](const std::string& t) { target = parse_integer("--" + name, t, low, high); },
      [&target] { return target ? Json(*target) : Json(); });
}

void TrainArguments::check_dimensions() const {
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--heads: " + std::to_string(heads) + " is not allowed with --d " + std::to_string(d) +
                     ", " + why);
  };
  if (d % heads != 0) refuse("expected a divisor of it");
  if (d / heads % 2 != 0) refuse("expected an even dimension of a head");
  if (std::find(variants.begin(), variants.end(), "differential") != variants.end() && d / heads % 4 != 0)
    refuse("expected a dimension of a head that is a multiple of 4, for differential attention");
}

void TrainArguments::check_places() const {
  namespace fs = std::filesystem;
  if (!fs::is_directory(corpus)) return;
  const std::string inside = fs::canonical(corpus).string() + "/";
  for (const auto& [option, path] : {std::pair("--output", run.output), std::pair("--csv", run.csv),
                                     std::pair("--resume", resume), std::pair("--checkpoints", checkpoints)})
    if (!path.empty() && fs::weakly_canonical(fs::absolute(path)).string().starts_with(inside))
      throw UsageError(std::string(option) + ": '" + path + "' lies in the corpus '" + corpus +
                       "', expected another place");
}

void TrainArguments::make_recall() {
  const training::Recall recall{*context, *pairs, *vocabulary};
  if (*context < 4 * *pairs)
    throw UsageError("--pairs: " + std::to_string(*pairs) + " is not allowed with --context " +
                     std::to_string(*context) + ", expected at most a quarter of it");
  if (*vocabulary / 2 - 1 < *pairs)
    throw UsageError("--vocabulary: " + std::to_string(*vocabulary) + " is too small for --pairs " +
                     std::to_string(*pairs) + ", expected at least " + std::to_string(2 * *pairs + 2));
  data = training::recall_task(recall, validation);
}

void TrainArguments::read_corpus() {
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
  corpus_summary["check"] = results::task_id(Json(documents));
  corpus_summary["validation_blocks"] = data.validation_sequences;
}

}  // namespace qksolve::app
