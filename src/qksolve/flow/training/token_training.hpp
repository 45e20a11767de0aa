// Training of the one-layer model on annotated text, the two circuits at rates of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "qksolve/flow/theory/trajectory.hpp"
#include "qksolve/flow/training/full_matrix.hpp"
#include "qksolve/flow/training/token_model.hpp"
#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::flow {

struct TokenTraining {
  Optimizer optimizer = Optimizer::sgd;  // or adamw, with decay .01
  double eta_ov = 1, eta_qk = 1;         // of values and output; of keys, query and bias; >= 0
  int batch = 32;                        // examples in a step, whose mean loss is descended, >= 1
  std::int64_t epochs = 20;              // >= 0; with a loss target at most so many
  // Ends at a step that brings the mean loss of all training examples from above to at most this: found by
  // bisection in the first epoch at whose end the loss is there.
  std::optional<double> loss_target;
  std::uint64_t seed = 0;  // of the order of the examples, drawn anew for each epoch
};

struct TokenRun {
  std::int64_t steps = 0;
  double train_loss = 0;              // of all training examples, at the end
  Status status = Status::converged;  // step_limit: the target was not reached; non_finite
  std::string reason;
};

// When a loss is no longer finite the model goes back to the last end of an epoch. Throws
// std::invalid_argument for a training out of range, numerics::Interrupted.
TokenRun train(TokenModel& model, const TokenizedExamples& examples, const TokenTraining& training,
               const numerics::Interrupt& interrupted = {});

}  // namespace qksolve::flow
