#include "qksolve/transformer/training.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <torch/torch.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <boost/math/constants/constants.hpp>
#include <chrono>
#include <cmath>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "qksolve/numerics/singular_values.hpp"
#include "qksolve/numerics/statistics.hpp"
#include "qksolve/transformer/model.hpp"

namespace qksolve::transformer {

using nlohmann::ordered_json;
using torch::Tensor;

namespace {

constexpr std::int64_t kEvaluatedTogether = 16;  // sequences
constexpr std::int64_t kScoredTogether = 256;    // places
constexpr std::int64_t kMeasuredSequences = 4;
constexpr double kWarmUp = 1.0 / 20, kLastRate = 0.1;

struct Tensors {
  Tensor tokens, places, targets;
};

Tensors tensors(const training::Batch& batch) {
  auto copy = [](const std::vector<std::int64_t>& values) { return torch::tensor(values, torch::kLong); };
  return {copy(batch.tokens).view({batch.sequences, batch.context}), copy(batch.places), copy(batch.targets)};
}

double learning_rate(const TrainingOptions& options, std::int64_t step) {
  const double steps = static_cast<double>(options.steps), done = static_cast<double>(step) + 1;
  const double warm_up = std::max(1.0, kWarmUp * steps);
  if (done <= warm_up) return options.learning_rate * done / warm_up;
  const double turn =
      boost::math::constants::pi<double>() * (done - warm_up) / std::max(1.0, steps - warm_up);
  return options.learning_rate * (kLastRate + (1 - kLastRate) * (1 + std::cos(turn)) / 2);
}

numerics::MeanEstimate mean_with_error(const std::vector<double>& values) {
  return numerics::mean_estimate(
      Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size())));
}

Evaluation evaluate(const Model& model, const training::Task& task, std::int64_t step,
                    const numerics::Interrupt& interrupted) {
  const torch::NoGradGuard no_gradients;
  std::vector<double> losses, hits;  // of the sequences
  for (std::int64_t first = 0; first < task.validation_sequences; first += kEvaluatedTogether) {
    numerics::throw_if(interrupted);
    const std::int64_t count = std::min(kEvaluatedTogether, task.validation_sequences - first);
    const training::Batch batch = task.validation(first, count);
    const Tensors t = tensors(batch);
    const Tensor logits = model.logits(t.tokens, t.places);
    const Tensor loss = torch::cross_entropy_loss(logits, t.targets, {}, at::Reduction::None);
    const Tensor hit = logits.argmax(-1).eq(t.targets);
    auto append = [&](const Tensor& of_places, std::vector<double>& to) {
      const Tensor means = of_places.to(torch::kDouble).view({count, batch.places_a_sequence()}).mean(1);
      to.insert(to.end(), means.data_ptr<double>(), means.data_ptr<double>() + count);
    };
    append(loss, losses);
    append(hit, hits);
  }
  const auto loss = mean_with_error(losses), accuracy = mean_with_error(hits);
  return {step, loss.mean, loss.error.value_or(0), accuracy.mean, accuracy.error.value_or(0)};
}

std::vector<LayerMeasurement> measure_layers(const Model& model, const training::Task& task,
                                             const numerics::Interrupt& interrupted) {
  const torch::NoGradGuard no_gradients;
  const std::int64_t sequences = std::min(kMeasuredSequences, task.validation_sequences);
  const Tensors t = tensors(task.validation(0, sequences));
  AttentionMaps maps;
  model.logits(t.tokens, t.places, &maps);
  std::vector<LayerMeasurement> layers;
  for (std::size_t i = 0; i < maps.weights.size(); ++i) {
    const Tensor weights = maps.weights[i].to(torch::kDouble);
    const Tensor entropy = -torch::special::xlogy(weights, weights).sum(-1).mean({1, 2});
    Tensor matrices = weights;
    if (!maps.lambda.empty()) {
      const Tensor both = weights.unflatten(1, {-1, 2});
      matrices = both.select(2, 0) - maps.lambda[i] * both.select(2, 1);
    }
    matrices = matrices.contiguous();
    const Eigen::Index T = matrices.size(-1);
    std::vector<double> ratios;
    for (std::int64_t s = 0; s < sequences; ++s) {
      double sum = 0;
      for (std::int64_t h = 0; h < matrices.size(1); ++h) {
        numerics::throw_if(interrupted);
        const Eigen::Map<const Eigen::MatrixXd> transposed(matrices[s][h].data_ptr<double>(), T, T);
        const auto spectrum = numerics::summarize_spectrum(transposed, {0, 0, 0, 0});
        sum += spectrum.first / spectrum.second;
      }
      ratios.push_back(sum / static_cast<double>(matrices.size(1)));
    }
    const std::vector<double> entropies(entropy.data_ptr<double>(), entropy.data_ptr<double>() + sequences);
    const auto mean_entropy = mean_with_error(entropies), mean_ratio = mean_with_error(ratios);
    LayerMeasurement layer;
    if (evolves(model.options().variant)) layer.step_size = model.step_size(static_cast<std::int64_t>(i));
    layer.entropy = mean_entropy.mean;
    layer.entropy_error = mean_entropy.error.value_or(0);
    layer.sigma_ratio = mean_ratio.mean;
    layer.sigma_ratio_error = mean_ratio.error.value_or(0);
    layers.push_back(layer);
  }
  return layers;
}

// The mean loss, and its gradients added to those of the parameters. The logits of all places together may be
// many times larger than anything else and leave every cache: they are made, and differentiated, a few at a
// time.
double descend(const Model& model, const Tensors& t) {
  const Tensor features = model.features(t.tokens, t.places);
  const double count = static_cast<double>(features.size(0));
  std::vector<Tensor> gradients;
  double loss = 0;
  for (std::int64_t first = 0; first < features.size(0); first += kScoredTogether) {
    const std::int64_t end = std::min(first + kScoredTogether, features.size(0));
    const Tensor some = features.detach().slice(0, first, end).clone().set_requires_grad(true);
    const Tensor of_some = torch::cross_entropy_loss(model.scores(some), t.targets.slice(0, first, end), {},
                                                     at::Reduction::Sum) /
                           count;
    of_some.backward();
    loss += of_some.item<double>();
    gradients.push_back(some.grad());
  }
  features.backward(torch::cat(gradients));
  return loss;
}

// Of the parameters that decay and of those that do not.
std::unique_ptr<torch::optim::AdamW> make_optimizer(const Model& model, const TrainingOptions& options) {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (const bool decays : {true, false}) {
    std::vector<Tensor> members;
    for (const Parameter& p : model.parameters())
      if (p.decays == decays) members.push_back(p.value);
    auto settings = std::make_unique<torch::optim::AdamWOptions>(options.learning_rate);
    settings->weight_decay(decays ? options.weight_decay : 0.0);
    groups.emplace_back(members, std::move(settings));
  }
  return std::make_unique<torch::optim::AdamW>(groups);
}

// LibTorch trusts what it reads: a state begins with a line that holds the length and the checksum of the
// rest.
std::string seal(std::string_view content) {
  boost::crc_optimal<64, 0x42f0e1eba9ea3693, ~std::uint64_t{0}, ~std::uint64_t{0}, true, true> crc;
  crc.process_bytes(content.data(), content.size());
  return "qksolve checkpoint 1 " + std::to_string(content.size()) + " " + std::to_string(crc.checksum()) +
         "\n";
}

std::string sealed(const std::string& content) { return seal(content) + content; }

std::optional<std::string_view> unsealed(std::string_view bytes) {
  const std::size_t line = bytes.substr(0, 100).find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  const std::string_view content = bytes.substr(line + 1);
  if (bytes.substr(0, line + 1) != seal(content)) return std::nullopt;
  return content;
}

// A state is an archive: the tensors of the parameters and of the optimizer, and a text with all else.
void write_state(std::ostream& out, const Model& model, const torch::optim::AdamW& optimizer,
                 const TrainingRun& run, const std::string& configuration) {
  ordered_json curve = ordered_json::array();
  for (const Evaluation& e : run.curve)
    curve.push_back({e.step, e.loss, e.loss_error, e.accuracy, e.accuracy_error});
  torch::serialize::OutputArchive archive, moments;
  const ordered_json text{{"steps", run.steps}, {"seconds", run.seconds}, {"curve", curve}};
  archive.write("configuration", c10::IValue(configuration));
  archive.write("run", c10::IValue(text.dump()));
  for (const Parameter& p : model.parameters()) archive.write(p.name, p.value.detach());
  optimizer.save(moments);
  archive.write("optimizer", moments);
  std::ostringstream bytes;
  archive.save_to(bytes);
  out << sealed(bytes.str());
}

[[noreturn]] void damaged() { throw CheckpointError("is not an undamaged checkpoint"); }

// The archive of a state of this run.
torch::serialize::InputArchive open_state(const std::string& bytes, const Checkpoints& checkpoints) {
  torch::serialize::InputArchive archive;
  std::string configuration;
  const std::optional<std::string_view> content = unsealed(bytes);
  if (!content) damaged();
  try {
    archive.load_from(content->data(), content->size());
    c10::IValue text;
    archive.read("configuration", text);
    configuration = text.toStringRef();
  } catch (const c10::Error&) {
    damaged();
  }
  if (configuration != checkpoints.configuration) {
    checkpoints.refuse(configuration);
    throw CheckpointError("belongs to another run");
  }
  return archive;
}

void read_state(const std::string& bytes, Model& model, torch::optim::AdamW& optimizer, TrainingRun& run,
                const Checkpoints& checkpoints) {
  torch::serialize::InputArchive archive = open_state(bytes, checkpoints), moments;
  try {
    c10::IValue text;
    archive.read("run", text);
    const auto json = ordered_json::parse(text.toStringRef());
    run.steps = json.at("steps");
    run.seconds = json.at("seconds");
    for (const auto& e : json.at("curve")) run.curve.push_back({e[0], e[1], e[2], e[3], e[4]});
    const torch::NoGradGuard no_gradients;
    for (const Parameter& p : model.parameters()) {
      Tensor value;
      archive.read(p.name, value);
      p.value.detach().copy_(value);
    }
    archive.read("optimizer", moments);
    optimizer.load(moments);
  } catch (const c10::Error&) {
    damaged();
  } catch (const nlohmann::json::exception&) {
    damaged();
  }
}

}  // namespace

bool prepare_library() {
  at::set_num_threads(1);
  // Blocks of a step are given back to the next one, not to the system, whose fresh pages cost more than the
  // arithmetic on them.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  void* set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (set_threads == nullptr) return false;
  reinterpret_cast<void (*)(int)>(set_threads)(1);
  return true;
}

namespace {

TrainingRun train_model(const ModelOptions& model_options, const TrainingOptions& options,
                        const training::Task& task, const Checkpoints& checkpoints,
                        const numerics::Interrupt& interrupted,
                        const std::function<void(const Evaluation&)>& evaluated) {
  if (options.steps < 1 || options.batch < 1 || options.evaluate_every < 1 || task.validation_sequences < 1)
    throw std::invalid_argument("a training needs steps, sequences, and validation sequences");
  Model model(model_options);
  const auto optimizer = make_optimizer(model, options);
  std::vector<Tensor> values;
  for (const Parameter& p : model.parameters()) values.push_back(p.value);
  TrainingRun run;
  run.parameter_count = model.parameter_count();
  if (checkpoints.load)
    if (const auto bytes = checkpoints.load()) read_state(*bytes, model, *optimizer, run, checkpoints);
  if (evaluated)
    for (const Evaluation& e : run.curve) evaluated(e);

  const std::int64_t loaded = run.steps;
  const auto save = [&] {
    if (run.steps > loaded)
      checkpoints.save(
          [&](std::ostream& out) { write_state(out, model, *optimizer, run, checkpoints.configuration); });
  };
  // Sets the gradients of the next step; whether it can be taken.
  std::int64_t differentiable = -1;  // the last state that was found so
  const auto differentiate = [&] {
    if (differentiable == run.steps) return true;
    const Tensors t = tensors(task.training(model_options.seed, run.steps * options.batch, options.batch));
    optimizer->zero_grad();
    const double loss = descend(model, t);
    const double norm = torch::nn::utils::clip_grad_norm_(values, options.largest_gradient);
    if (!std::isfinite(loss) || !std::isfinite(norm)) return false;
    differentiable = run.steps;
    return true;
  };
  const auto advance = [&] {
    for (;;) {
      const bool due =
          run.steps > 0 && (run.steps % options.evaluate_every == 0 || run.steps == options.steps);
      if (due && (run.curve.empty() || run.curve.back().step != run.steps)) {
        const Evaluation e = evaluate(model, task, run.steps, interrupted);
        if (!std::isfinite(e.loss)) return Ending::non_finite;
        run.curve.push_back(e);
        if (evaluated) evaluated(e);
      }
      if (run.steps == options.steps) break;
      const auto start = std::chrono::steady_clock::now();
      if (!differentiate()) return Ending::non_finite;
      numerics::throw_if(interrupted);
      if (checkpoints.every > 0 && run.steps % checkpoints.every == 0) save();
      for (auto& group : optimizer->param_groups()) group.options().set_lr(learning_rate(options, run.steps));
      optimizer->step();
      ++run.steps;
      run.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    run.layers = measure_layers(model, task, interrupted);
    return Ending::finished;
  };
  try {
    run.ending = advance();
  } catch (const numerics::Interrupted&) {  // before a step: the state is that of run.steps
    if (checkpoints.every > 0 && differentiate()) save();
    run.ending = Ending::interrupted;
  }
  return run;
}

}  // namespace

void check_checkpoint(const Checkpoints& checkpoints) {
  if (const auto bytes = checkpoints.load()) open_state(*bytes, checkpoints);
}

TrainingRun train(const ModelOptions& model, const TrainingOptions& options, const training::Task& task,
                  const Checkpoints& checkpoints, const numerics::Interrupt& interrupted,
                  const std::function<void(const Evaluation&)>& evaluated) {
  try {
    return train_model(model, options, task, checkpoints, interrupted, evaluated);
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    if (message.find("alloc") != std::string::npos) throw MemoryError(message);
    throw std::runtime_error(message);
  } catch (const std::bad_alloc& error) {
    throw MemoryError(error.what());
  }
}

}  // namespace qksolve::transformer
