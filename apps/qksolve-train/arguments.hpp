// What `coupled train` is asked for: the task, the models of the study, how they are trained.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "qksolve/data/task.hpp"
#include "qksolve/transformer/training.hpp"

namespace qksolve::app {

// One model: what is varied in a study.
struct ModelRun {
  transformer::Variant variant = transformer::Variant::standard;
  std::optional<std::int64_t> coupling_steps;
  std::int64_t seed = 0;

  results::Json coordinates() const {
    results::Json json{{"variant", transformer::variant_name(variant)}};
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

// The options of the command. `finish` also makes the data of the task.
struct TrainArguments {
  std::string task = "mqar", difficulty = "medium";
  std::optional<std::int64_t> context, pairs, vocabulary, hidden;
  std::string corpus, level = "word";
  bool shuffle_sentences = false;
  std::vector<std::string> variants = names_of(transformer::kVariants, transformer::variant_name);
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

  training::Task data;           // made by `finish`
  results::Json corpus_summary;  // null without a corpus

  void declare(Options& options);
  void finish(const Options& options);
  // Empty: none are written.
  std::string checkpoint_folder() const;
  // Variants and numbers of steps in their order, seeds inside.
  std::vector<ModelRun> runs() const;
  // Of the result: without what the task does not use, with what was chosen for it.
  results::Json parameters(const Options& options) const;
  transformer::ModelOptions model(const ModelRun& r) const;
  transformer::TrainingOptions training_options() const;

 private:
  static void whole(Options& options, const std::string& name, std::optional<std::int64_t>& target,
                    std::int64_t low, std::int64_t high, const std::string& meaning,
                    const std::string& otherwise);
  void check_dimensions() const;
  // What is written into a corpus would become part of it.
  void check_places() const;
  void make_recall();
  void read_corpus();
};

}  // namespace qksolve::app
