// Training: what it learns, that it continues as if it had not stopped, and what it refuses.
#include "qksolve/transformer/training.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "qksolve/data/mqar.hpp"
#include "variants.hpp"

// Last: this CHECK, not that of Torch's logging.
#include "after_torch.hpp"

using namespace qksolve::transformer;
using qksolve::training::Batch;
using qksolve::training::Task;
using torch::Tensor;

namespace {

// Before any test of the program, and once.
[[maybe_unused]] const bool kPrepared = prepare_library();

Task small_task() { return qksolve::training::recall_task({16, 2, 16, 0.5}, 6); }

ModelOptions small(Variant variant) {
  ModelOptions options;
  options.variant = variant;
  options.vocabulary = options.context = options.dimension = 16;
  options.heads = options.layers = 2;
  options.hidden = 8;
  options.token_shift = true;
  options.seed = 3;
  return options;
}

TrainingOptions short_run() {
  TrainingOptions options;
  options.steps = 12;
  options.batch = 4;
  options.evaluate_every = 1;
  return options;
}

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Checkpoints in memory, all that were saved.
struct Memory {
  std::vector<std::string> saved;

  Checkpoints every(std::int64_t steps, const std::string& configuration = "this run") {
    Checkpoints checkpoints;
    checkpoints.every = steps;
    checkpoints.configuration = configuration;
    checkpoints.load = [this] { return saved.empty() ? std::nullopt : std::optional(saved.back()); };
    checkpoints.save = [this](const std::function<void(std::ostream&)>& write) {
      std::ostringstream out;
      write(out);
      saved.push_back(out.str());
    };
    checkpoints.refuse = [](const std::string& found) { throw Refused(found); };
    return checkpoints;
  }
};

// Of runs that evaluate after every step, in one piece: they ask once a step and once an evaluation.
std::function<bool()> interrupted_after(std::int64_t steps) {
  return [asked = 2 * steps]() mutable { return asked-- == 0; };
}
std::function<bool()> interrupted_in_evaluation_after(std::int64_t steps) {
  return [asked = 2 * steps - 1]() mutable { return asked-- == 0; };
}

// What an archive holds: tensors, shape and bytes, in any order, as the optimizer names its own by addresses;
// and the text of the run but for its time.
struct State {
  std::multiset<std::string> tensors;
  nlohmann::json run;
  bool operator==(const State&) const = default;
};

void collect(torch::serialize::InputArchive& archive, State& state) {
  for (const std::string& key : archive.keys()) {
    torch::serialize::InputArchive inner;
    if (archive.try_read(key, inner)) {
      collect(inner, state);
      continue;
    }
    c10::IValue value;
    archive.read(key, value);
    if (key == "run") state.run = nlohmann::json::parse(value.toStringRef());
    if (!value.isTensor()) continue;
    const Tensor tensor = value.toTensor().contiguous();
    std::ostringstream text;
    text << tensor.sizes() << ' '
         << std::string(static_cast<const char*>(tensor.data_ptr()),
                        static_cast<std::size_t>(tensor.nbytes()));
    state.tensors.insert(text.str());
  }
}

// The archive that follows the line with its checksum.
torch::serialize::InputArchive archive_in(const std::string& bytes) {
  const std::size_t start = bytes.find('\n') + 1;
  torch::serialize::InputArchive archive;
  archive.load_from(bytes.data() + start, bytes.size() - start);
  return archive;
}

State state_in(const std::string& bytes) {
  torch::serialize::InputArchive archive = archive_in(bytes);
  State state;
  collect(archive, state);
  state.run.erase("seconds");
  return state;
}

// The values of a parameter in a checkpoint.
Tensor saved_parameter(const std::string& bytes, const std::string& name) {
  torch::serialize::InputArchive archive = archive_in(bytes);
  Tensor value;
  archive.read(name, value);
  return value;
}

void check_same(const std::vector<Evaluation>& a, const std::vector<Evaluation>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].step == b[i].step);
    CHECK(a[i].loss == b[i].loss);
    CHECK(a[i].loss_error == b[i].loss_error);
    CHECK(a[i].accuracy == b[i].accuracy);
    CHECK(a[i].accuracy_error == b[i].accuracy_error);
  }
}

// All numbers but the time, bit for bit.
void check_same(const TrainingRun& a, const TrainingRun& b) {
  CHECK(a.ending == b.ending);
  CHECK(a.steps == b.steps);
  CHECK(a.parameter_count == b.parameter_count);
  check_same(a.curve, b.curve);
  REQUIRE(a.layers.size() == b.layers.size());
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    CHECK(a.layers[i].step_size == b.layers[i].step_size);
    CHECK(a.layers[i].entropy == b.layers[i].entropy);
    CHECK(a.layers[i].entropy_error == b.layers[i].entropy_error);
    CHECK(a.layers[i].sigma_ratio == b.layers[i].sigma_ratio);
    CHECK(a.layers[i].sigma_ratio_error == b.layers[i].sigma_ratio_error);
  }
}

struct Mean {
  double mean = 0, error = 0;
};
Mean mean_of(const std::vector<double>& values) {
  const double count = static_cast<double>(values.size());
  double mean = 0, square = 0;
  for (const double x : values) mean += x / count;
  for (const double x : values) square += (x - mean) * (x - mean);
  return {mean, std::sqrt(square / (count - 1) / count)};
}

}  // namespace

TEST_CASE("every variant learns a batch by heart") {
  // Four sequences that differ in their first token, each next token scored: the loss of one who knows them
  // is 0.
  Batch batch{4, 8, {}, {}, {}};
  for (std::int64_t s = 0; s < 4; ++s)
    for (std::int64_t t = 0; t < 8; ++t) {
      batch.tokens.push_back(t == 0 ? s : (5 * s + 3 * t * t + t * s) % 11);
      batch.places.push_back(8 * s + t);
      batch.targets.push_back((5 * s + 3 * (t + 1) * (t + 1) + (t + 1) * s) % 11);
    }
  Task task;
  task.vocabulary = 11;
  task.context = 8;
  task.training = [&](std::uint64_t, std::int64_t, std::int64_t) { return batch; };
  task.validation_sequences = 4;
  task.validation = [&](std::int64_t, std::int64_t) { return batch; };
  TrainingOptions options;
  options.steps = 150;
  options.batch = 4;
  options.learning_rate = 1e-2;
  options.evaluate_every = 150;
  for (const Variant variant : kVariants) {
    CAPTURE(variant_name(variant));
    ModelOptions model = small(variant);
    model.dimension = 32;
    const TrainingRun run = train(model, options, task);
    CHECK(run.ending == Ending::finished);
    CHECK(run.steps == 150);
    CHECK(run.curve.back().loss < 0.05);
    CHECK(run.curve.back().accuracy == 1);
    CHECK(run.curve.back().accuracy_error == 0);
  }
}

TEST_CASE("a short training on easy recall is far better than a guess" * doctest::test_suite("slow")) {
  const Task task = qksolve::training::recall_task({32, 4, 64, 0.01}, 200);
  ModelOptions model;
  model.vocabulary = 64;
  model.context = 32;
  model.token_shift = true;
  TrainingOptions options;
  options.steps = 200;
  options.evaluate_every = 200;
  const TrainingRun run = train(model, options, task);
  const Evaluation& last = run.curve.back();
  CAPTURE(last.accuracy);
  CAPTURE(last.accuracy_error);
  // A guess is one of the 32 values, or one of the four of the sequence.
  CHECK(last.accuracy > 1.0 / 4 + 10 * last.accuracy_error);
  CHECK(last.accuracy_error > 0);
  CHECK(last.loss < std::log(32) - 10 * last.loss_error);
}

TEST_CASE("what is measured is that of loops over the validation sequences") {
  // At rate zero the trained model is the first one.
  Task task = qksolve::training::recall_task({16, 2, 16, 0.5}, 3);
  TrainingOptions options = short_run();
  options.steps = 2;
  options.evaluate_every = 5;
  options.learning_rate = 0;
  for (const Variant variant : kVariants) {
    CAPTURE(variant_name(variant));
    const TrainingRun run = train(small(variant), options, task);
    const Model model(small(variant));
    CHECK(run.parameter_count == model.parameter_count());
    const Batch batch = task.validation(0, 3);
    const Tensor tokens = torch::tensor(batch.tokens, torch::kLong).view({3, 16});
    AttentionMaps maps;
    const Tensor logits = model.logits(tokens, torch::tensor(batch.places, torch::kLong), &maps).detach();
    std::vector<double> losses(3), hits(3);
    for (std::size_t place = 0; place < batch.places.size(); ++place) {
      const float* row = logits.data_ptr<float>() + 16 * place;
      double sum = 0;
      for (int token = 0; token < 16; ++token) sum += std::exp(double{row[token]});
      const std::size_t sequence = static_cast<std::size_t>(batch.places[place]) / 16;
      losses[sequence] += (std::log(sum) - double{row[batch.targets[place]]}) / 2;
      hits[sequence] += (std::max_element(row, row + 16) - row == batch.targets[place]) / 2.0;
    }
    REQUIRE(run.curve.size() == 1);
    const Evaluation& e = run.curve[0];
    CHECK(e.step == 2);
    // Losses of order 1 are computed in float.
    CHECK(e.loss == doctest::Approx(mean_of(losses).mean).epsilon(1e-6));
    CHECK(e.loss_error == doctest::Approx(mean_of(losses).error).epsilon(1e-5));
    CHECK(e.accuracy == doctest::Approx(mean_of(hits).mean));
    CHECK(e.accuracy_error == doctest::Approx(mean_of(hits).error));

    REQUIRE(run.layers.size() == 2);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const Tensor weights = maps.weights[layer].contiguous();
      const std::int64_t heads = weights.size(1);
      std::vector<double> entropies(3), ratios(3);
      for (std::int64_t s = 0; s < 3; ++s) {
        std::vector<Tensor> matrices;
        for (std::int64_t h = 0; h < heads; ++h) {
          matrices.push_back(weights[s][h].to(torch::kDouble));
          for (std::int64_t i = 0; i < 16 * 16; ++i) {
            const double a = matrices.back().data_ptr<double>()[i];
            if (a > 0)
              entropies[static_cast<std::size_t>(s)] -= a * std::log(a) / (16 * static_cast<double>(heads));
          }
        }
        if (variant == Variant::differential)
          matrices = {matrices[0] - maps.lambda[layer] * matrices[1],
                      matrices[2] - maps.lambda[layer] * matrices[3]};
        for (const Tensor& m : matrices) {
          const Tensor singular = torch::linalg_svdvals(m);
          ratios[static_cast<std::size_t>(s)] += (singular[0] / singular[1]).item<double>() / 2;
        }
      }
      const LayerMeasurement& measured = run.layers[layer];
      CHECK(measured.entropy == doctest::Approx(mean_of(entropies).mean).epsilon(1e-10));
      CHECK(measured.entropy_error == doctest::Approx(mean_of(entropies).error).epsilon(1e-8));
      CHECK(measured.sigma_ratio == doctest::Approx(mean_of(ratios).mean).epsilon(1e-8));
      CHECK(measured.sigma_ratio_error == doctest::Approx(mean_of(ratios).error).epsilon(1e-6));
      CHECK(measured.step_size.has_value() == evolves(variant));
      if (measured.step_size) CHECK(*measured.step_size == doctest::Approx(0.3).epsilon(1e-7));
    }
  }
}

TEST_CASE("step sizes are learned") {
  for (const Variant variant : {Variant::euler, Variant::leapfrog, Variant::uncoupled}) {
    CAPTURE(variant_name(variant));
    const TrainingRun run = train(small(variant), short_run(), small_task());
    for (const LayerMeasurement& layer : run.layers) CHECK(std::abs(*layer.step_size - 0.3) > 1e-4);
  }
}

TEST_CASE("training asks for consecutive sequences of the model's seed, and evaluates when told") {
  const Task given = small_task();
  Task task = given;
  std::vector<std::int64_t> firsts;
  task.training = [&](std::uint64_t seed, std::int64_t first, std::int64_t count) {
    CHECK(seed == 3);
    CHECK(count == 4);
    firsts.push_back(first);
    return given.training(seed, first, count);
  };
  TrainingOptions options = short_run();
  options.evaluate_every = 5;
  const TrainingRun run = train(small(Variant::standard), options, task);
  REQUIRE(firsts.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) CHECK(firsts[i] == 4 * static_cast<std::int64_t>(i));
  REQUIRE(run.curve.size() == 3);
  CHECK(run.curve[0].step == 5);
  CHECK(run.curve[1].step == 10);
  CHECK(run.curve[2].step == 12);
  CHECK(run.seconds > 0);
}

TEST_CASE("validation of any number of sequences is taken together") {
  // More than are evaluated at a time, and no multiple of that: the last ones count as the others do.
  const Task all = qksolve::training::recall_task({16, 2, 16, 0.5}, 37);
  TrainingOptions options = short_run();
  options.steps = 1;
  options.learning_rate = 0;
  const TrainingRun run = train(small(Variant::euler), options, all);
  std::vector<double> losses;
  for (std::int64_t s = 0; s < 37; ++s) {
    Task one = all;
    one.validation_sequences = 1;
    one.validation = [&](std::int64_t, std::int64_t count) {
      CHECK(count == 1);
      return all.validation(s, 1);
    };
    const TrainingRun single = train(small(Variant::euler), options, one);
    losses.push_back(single.curve[0].loss);
    CHECK(single.curve[0].loss_error == 0);
  }
  CHECK(run.curve[0].loss == doctest::Approx(mean_of(losses).mean).epsilon(1e-6));
  CHECK(run.curve[0].loss_error == doctest::Approx(mean_of(losses).error).epsilon(1e-5));
}

TEST_CASE("the first steps are those of AdamW at a rising rate") {
  // The first step of Adam is the rate times the gradient's sign, as far as the gradient is well above 1e-8.
  // Warm-up is a twentieth of 40 steps: half of the rate, all of it, then less.
  TrainingOptions options = short_run();
  options.steps = 40;
  options.learning_rate = 0.01;
  options.weight_decay = 0.5;
  Memory memory;
  train(small(Variant::standard), options, small_task(), memory.every(1), interrupted_after(1));
  const Model start(small(Variant::standard));
  for (const std::string name : {"final_bias", "layer1.mix", "embedding"}) {
    CAPTURE(name);
    const Tensor moved = saved_parameter(memory.saved.front(), name) - parameter(start, name).detach();
    CHECK(std::abs(moved.abs().max().item<double>() / 0.005 - 1) < 1e-3);
  }
  // Matrices first decay by rate times decay.
  const std::string matrix = "layer1.expand";
  const Tensor before = parameter(start, matrix).detach();
  const Tensor moved = saved_parameter(memory.saved.front(), matrix) - (1 - 0.005 * 0.5) * before;
  CHECK(std::abs(moved.abs().max().item<double>() / 0.005 - 1) < 1e-3);
}

TEST_CASE("a run that is interrupted and resumed is one that was not") {
  const Task task = small_task();
  for (const Variant variant : kVariants) {
    CAPTURE(variant_name(variant));
    Memory whole;
    const TrainingRun expected = train(small(variant), short_run(), task, whole.every(4));
    CHECK(expected.ending == Ending::finished);
    CHECK(expected.curve.front().loss != expected.curve.back().loss);
    REQUIRE(whole.saved.size() == 2);  // after 4 and 8 steps
    CHECK(state_in(whole.saved[0]) != state_in(whole.saved[1]));
    for (const std::int64_t stop : {0, 1, 5, 8, 11}) {
      CAPTURE(stop);
      Memory memory;
      const TrainingRun first =
          train(small(variant), short_run(), task, memory.every(4), interrupted_after(stop));
      CHECK(first.ending == Ending::interrupted);
      CHECK(first.steps == stop);
      CHECK(first.curve.size() == static_cast<std::size_t>(stop));
      CHECK(first.layers.empty());
      CHECK(memory.saved.empty() == (stop == 0));
      const TrainingRun second = train(small(variant), short_run(), task, memory.every(4));
      check_same(second, expected);
      CHECK(second.seconds > first.seconds);
      // What is saved later is the same, but for times and addresses.
      if (stop < 8) CHECK(state_in(memory.saved.back()) == state_in(whole.saved[1]));
    }
  }
}

TEST_CASE("a run that is interrupted in an evaluation makes it when it is resumed") {
  const Task task = small_task();
  const TrainingRun expected = train(small(Variant::euler), short_run(), task);
  for (const std::int64_t stop : {1, 5, 12}) {
    CAPTURE(stop);
    Memory memory;
    const TrainingRun first = train(small(Variant::euler), short_run(), task, memory.every(100),
                                    interrupted_in_evaluation_after(stop));
    CHECK(first.ending == Ending::interrupted);
    CHECK(first.steps == stop);
    CHECK(first.curve.size() == static_cast<std::size_t>(stop - 1));
    REQUIRE(memory.saved.size() == 1);
    check_same(train(small(Variant::euler), short_run(), task, memory.every(100)), expected);
  }
}

TEST_CASE("a run may be interrupted at every step") {
  const TrainingRun expected = train(small(Variant::leapfrog), short_run(), small_task());
  Memory memory;
  TrainingRun run;
  for (std::int64_t i = 0; i <= 12; ++i) {
    // After the last step, it would be interrupted in what is measured at the end.
    run = train(small(Variant::leapfrog), short_run(), small_task(), memory.every(100),
                i < 11 ? interrupted_after(1) : std::function<bool()>());
    CHECK(run.steps == std::min<std::int64_t>(i + 1, 12));
    CHECK((run.ending == Ending::interrupted) == (i < 11));
    if (run.ending == Ending::finished) break;
  }
  check_same(run, expected);
}

TEST_CASE("without checkpoints nothing is loaded or saved") {
  Memory memory;
  Checkpoints none = memory.every(0);
  const TrainingRun run = train(small(Variant::euler), short_run(), small_task(), none, interrupted_after(7));
  CHECK(run.ending == Ending::interrupted);
  CHECK(run.steps == 7);
  CHECK(memory.saved.empty());
  check_same(train(small(Variant::euler), short_run(), small_task(), memory.every(5)),
             train(small(Variant::euler), short_run(), small_task()));
}

TEST_CASE("a run that is killed loses no more than the steps between checkpoints") {
  const Task task = small_task();
  const TrainingRun expected = train(small(Variant::euler), short_run(), task);
  for (const std::int64_t killed : {0, 2, 3, 4, 8, 11}) {
    CAPTURE(killed);
    Memory memory;
    Task failing = task;
    failing.training = [&](std::uint64_t seed, std::int64_t first, std::int64_t count) {
      if (first == 4 * killed) throw std::domain_error("no data");
      return task.training(seed, first, count);
    };
    CHECK_THROWS_AS(train(small(Variant::euler), short_run(), failing, memory.every(3)), std::domain_error);
    // A state is saved when the step that follows it is known to be finite.
    CHECK(memory.saved.size() == static_cast<std::size_t>(killed > 0 ? (killed - 1) / 3 : 0));
    const std::int64_t kept =
        memory.saved.empty() ? 0 : state_in(memory.saved.back()).run.at("steps").get<int>();
    CHECK(killed - kept <= 3);
    check_same(train(small(Variant::euler), short_run(), task, memory.every(3)), expected);
  }
  // While it saves: what was saved before stays.
  Memory memory;
  Checkpoints checkpoints = memory.every(3);
  checkpoints.save = [&](const std::function<void(std::ostream&)>& write) {
    std::ostringstream out;
    write(out);
    if (memory.saved.size() == 2) throw std::domain_error("no space");
    memory.saved.push_back(out.str());
  };
  CHECK_THROWS_AS(train(small(Variant::euler), short_run(), task, checkpoints), std::domain_error);
  CHECK(state_in(memory.saved.back()).run.at("steps") == 6);
  check_same(train(small(Variant::euler), short_run(), task, memory.every(3)), expected);
}

TEST_CASE("the checkpoint of another run is handed to the caller") {
  Memory memory;
  train(small(Variant::euler), short_run(), small_task(), memory.every(4, "a run"));
  CHECK_THROWS_WITH_AS(train(small(Variant::euler), short_run(), small_task(), memory.every(4, "another")),
                       "a run", Refused);
  CHECK(memory.saved.size() == 2);
  // One who does not throw does not get the state either.
  Checkpoints lenient = memory.every(4, "another");
  lenient.refuse = [](const std::string&) {};
  CHECK_THROWS_AS(train(small(Variant::euler), short_run(), small_task(), lenient), CheckpointError);
  // The same configuration, but of a model with other parameters.
  ModelOptions wider = small(Variant::euler);
  wider.dimension = 32;
  CHECK_THROWS_AS(train(wider, short_run(), small_task(), memory.every(4, "a run")), CheckpointError);
  CHECK_THROWS_AS(train(small(Variant::differential), short_run(), small_task(), memory.every(4, "a run")),
                  CheckpointError);
}

namespace {

// A run of three steps, saved after two.
struct SmallState {
  TrainingOptions options = short_run();
  ModelOptions model = small(Variant::leapfrog);
  std::string whole;

  SmallState() {
    options.steps = 3;
    model.layers = 1;
    model.dimension = 4;
    Memory memory;
    train(model, options, small_task(), memory.every(2));
    whole = memory.saved.at(0);
  }
  TrainingRun resume(const std::string& bytes) const {
    Memory memory;
    memory.saved = {bytes};
    return train(model, options, small_task(), memory.every(2));
  }
};

}  // namespace

TEST_CASE("damaged checkpoints are refused") {
  const SmallState state;
  const std::string& whole = state.whole;
  auto resume = [&](const std::string& bytes) { return state.resume(bytes); };
  CHECK(resume(whole).steps == 3);
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string(1000, 'x'), std::string(whole.size(), '\0'),
        whole.substr(whole.size() / 2), std::string(whole.rbegin(), whole.rend()),
        "PK\3\4" + std::string(300, 'a')})
    CHECK_THROWS_AS(resume(bytes), CheckpointError);
  for (std::size_t kept = 1; kept < whole.size(); kept += 1 + whole.size() / 50) {
    CAPTURE(kept);
    CHECK_THROWS_AS(resume(whole.substr(0, kept)), CheckpointError);
  }
  CHECK_THROWS_AS(resume(whole.substr(0, whole.size() - 1)), CheckpointError);
}

// Without a checksum most of these states would be accepted, and some would end
// the program inside of LibTorch's reader.
TEST_CASE("a checkpoint with any byte changed is refused") {
  const SmallState state;
  for (std::size_t place = 0; place < state.whole.size(); place += 1 + state.whole.size() / 200) {
    CAPTURE(place);
    std::string bytes = state.whole;
    bytes[place] = static_cast<char>(bytes[place] ^ 0x11);
    CHECK_THROWS_AS(state.resume(bytes), CheckpointError);
  }
}

TEST_CASE("a run whose numbers overflow ends there, and its checkpoint stays") {
  const Task task = small_task();
  for (const Variant variant : kVariants) {
    CAPTURE(variant_name(variant));
    TrainingOptions options = short_run();
    Memory memory;
    train(small(variant), options, task, memory.every(100), interrupted_after(5));
    REQUIRE(memory.saved.size() == 1);
    const std::string good = memory.saved[0];

    // The step after these five throws the weights beyond all bounds: the evaluation notices.
    options.learning_rate = 1e30;
    TrainingRun run = train(small(variant), options, task, memory.every(1));
    CHECK(run.ending == Ending::non_finite);
    CHECK(run.steps == 6);
    CHECK(run.curve.size() == 5);
    CHECK(run.layers.empty());
    REQUIRE(memory.saved.size() == 1);
    CHECK(memory.saved[0] == good);

    // Without one, the next step does, before it is taken.
    options.evaluate_every = 12;
    run = train(small(variant), options, task, memory.every(7));
    CHECK(run.ending == Ending::non_finite);
    CHECK(run.steps == 6);
    CHECK(run.curve.size() == 5);
    REQUIRE(memory.saved.size() == 1);
    CHECK(memory.saved[0] == good);

    // From there a run with a sane rate goes on.
    CHECK(train(small(variant), short_run(), task, memory.every(4)).ending == Ending::finished);
  }
}

TEST_CASE("runs at a time have the numbers of runs one after the other") {
  const Task task = small_task();
  const ModelOptions first = small(Variant::leapfrog), second = small(Variant::differential);
  const TrainingRun first_alone = train(first, short_run(), task),
                    second_alone = train(second, short_run(), task);
  for (int repeat = 0; repeat < 3; ++repeat) {
    TrainingRun a, b;
    std::thread one([&] { a = train(first, short_run(), task); });
    std::thread two([&] { b = train(second, short_run(), task); });
    one.join();
    two.join();
    check_same(a, first_alone);
    check_same(b, second_alone);
  }
}

TEST_CASE("seeds differ, and a seed repeats") {
  ModelOptions model = small(Variant::leapfrog);
  const TrainingRun run = train(model, short_run(), small_task());
  check_same(train(model, short_run(), small_task()), run);
  model.seed = 4;
  CHECK(train(model, short_run(), small_task()).curve.back().loss != run.curve.back().loss);
}

TEST_CASE("trainings that cannot be are refused") {
  const auto refused = [](const std::function<void(TrainingOptions&, ModelOptions&, Task&)>& change) {
    TrainingOptions options = short_run();
    ModelOptions model = small(Variant::euler);
    Task task = small_task();
    change(options, model, task);
    CHECK_THROWS_AS(train(model, options, task), std::invalid_argument);
  };
  refused([](TrainingOptions& o, ModelOptions&, Task&) { o.steps = 0; });
  refused([](TrainingOptions& o, ModelOptions&, Task&) { o.batch = 0; });
  refused([](TrainingOptions& o, ModelOptions&, Task&) { o.evaluate_every = 0; });
  refused([](TrainingOptions&, ModelOptions& m, Task&) { m.heads = 3; });
  refused([](TrainingOptions&, ModelOptions&, Task& t) { t.validation_sequences = 0; });
  TrainingOptions least = short_run();
  least.steps = least.batch = least.evaluate_every = 1;
  CHECK(train(small(Variant::euler), least, small_task()).ending == Ending::finished);
}
