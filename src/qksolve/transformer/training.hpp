// The training of a model by AdamW, resumable to the byte.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "qksolve/data/task.hpp"
#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/transformer/model_options.hpp"

namespace qksolve::transformer {

struct TrainingOptions {
  std::int64_t steps = 400, batch = 64;  // >= 1
  double learning_rate = 3e-3;  // largest; rises over the first twentieth, falls as a cosine to a tenth
  double weight_decay = 0.01;
  double largest_gradient = 1;       // norms above are reduced to it
  std::int64_t evaluate_every = 50;  // steps; the last is always evaluated
};

// On the validation data. Errors are standard errors over its sequences.
struct Evaluation {
  std::int64_t step = 0;
  double loss = 0, loss_error = 0;  // nats a scored token
  double accuracy = 0, accuracy_error = 0;
};

// Attention of a layer on the first validation sequences, means over heads and sequences with standard errors
// over sequences. entropy: -sum a log a, over all queries (differential: of either map). sigma_ratio:
// sigma_1/sigma_2 of the matrix of weights (differential: of the difference).
struct LayerMeasurement {
  std::optional<double> step_size;
  double entropy = 0, entropy_error = 0;
  double sigma_ratio = 0, sigma_ratio_error = 0;
};

enum class Ending { finished, non_finite, interrupted };

struct TrainingRun {
  Ending ending = Ending::finished;
  std::int64_t steps = 0;         // done
  std::vector<Evaluation> curve;  // in order of steps
  std::vector<LayerMeasurement> layers;
  std::int64_t parameter_count = 0;
  double seconds = 0;  // of the training steps, those before a resumption included
};

// A checkpoint that cannot be used: damaged, or of another run.
class CheckpointError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where the state of a run is kept. `configuration` says which run it is; a state with another is handed to
// `refuse`, which throws.
struct Checkpoints {
  std::int64_t every = 0;  // steps; 0: none
  std::string configuration;
  std::function<std::optional<std::string>()> load;                           // the bytes of the last state
  std::function<void(const std::function<void(std::ostream&)>& write)> save;  // replaces it, or throws
  std::function<void(const std::string& found)> refuse;
};

// Throws CheckpointError, or what `refuse` throws, where there is a state that the run could not go on from
// because it is damaged or of another configuration.
void check_checkpoint(const Checkpoints& checkpoints);

// Not enough memory for a model and its batches.
class MemoryError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws std::invalid_argument for options that do not fit, CheckpointError, MemoryError, and what the
// functions throw. A run ends where its loss or the gradient is not finite. A state is saved before the next
// step is taken from it, once that step's loss and gradient are known to be finite: the last checkpoint is
// always a good one. Where `interrupted` turns true, before a step or in an evaluation, the state is saved
// and the run ends. `evaluated` is called for every evaluation, for those of a state that was loaded at once.
// One thread; the numbers depend on nothing else.
TrainingRun train(const ModelOptions& model, const TrainingOptions& options, const training::Task& task,
                  const Checkpoints& checkpoints = {}, const numerics::Interrupt& interrupted = {},
                  const std::function<void(const Evaluation&)>& evaluated = {});

// One thread for every run, so that its numbers do not depend on how many there are. Returns whether the
// matrix products are those of OpenBLAS; the reference library is many times slower. Call once, before
// anything else.
bool prepare_library();

}  // namespace qksolve::transformer
