#include "qksolve/flow/training/token_training.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "qksolve/numerics/adam.hpp"
#include "qksolve/numerics/one_thread.hpp"
#include "qksolve/numerics/random_integers.hpp"

namespace qksolve::flow {
namespace {

constexpr std::uint64_t kOrder = 24;
constexpr double kDecay = 0.01;

struct Moments {
  numerics::AdamW keys, query, bias, values, output;
};

// What a step changes.
struct Snapshot {
  TokenWeights weights;
  Moments moments;
};

class Trainer {
 public:
  Trainer(TokenModel& model, const TokenizedExamples& examples, const TokenTraining& training,
          const numerics::Interrupt& interrupted)
      : model_(model),
        examples_(examples),
        training_(training),
        interrupted_(interrupted),
        gradient_(model.zero_gradient()),
        touched_(static_cast<std::size_t>(model.options().vocabulary), 0),
        order_(static_cast<std::size_t>(examples.size())) {}

  std::int64_t steps_of_epoch() const { return (examples_.size() + training_.batch - 1) / training_.batch; }

  void begin_epoch(std::int64_t epoch) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    numerics::RandomIntegers({training_.seed, 0, 0, kOrder}, static_cast<std::uint64_t>(epoch))
        .shuffle(order_);
  }

  // Steps first ... end - 1 of the epoch. Returns whether all losses are finite. Throws Interrupted.
  bool run(std::int64_t first, std::int64_t end) {
    for (std::int64_t step = first; step < end; ++step) {
      numerics::throw_if(interrupted_);
      if (!std::isfinite(descend(step))) return false;
    }
    return true;
  }

  Snapshot save() const { return {model_.weights, moments_}; }
  void restore(const Snapshot& snapshot) {
    model_.weights = snapshot.weights;
    moments_ = snapshot.moments;
  }

 private:
  double descend(std::int64_t step) {
    const std::int64_t first = step * training_.batch,
                       end = std::min<std::int64_t>(first + training_.batch, examples_.size());
    const double scale = 1.0 / static_cast<double>(end - first);
    double loss = 0;
    for (std::int64_t i = first; i < end; ++i) {
      const std::int64_t example = order_[static_cast<std::size_t>(i)];
      loss += model_.add_gradient(examples_, example, scale, gradient_);
      const auto at = static_cast<std::size_t>(example);
      for (std::int64_t l = examples_.first[at]; l < examples_.first[at + 1]; ++l) {
        const std::int32_t token = examples_.tokens[static_cast<std::size_t>(l)];
        if (touched_[static_cast<std::size_t>(token)]) continue;
        touched_[static_cast<std::size_t>(token)] = 1;
        tokens_.push_back(token);
      }
    }
    TokenWeights& w = model_.weights;
    const double eta_qk = training_.eta_qk, eta_ov = training_.eta_ov;
    if (training_.optimizer == Optimizer::adamw) {
      moments_.keys.step(w.keys, gradient_.keys, eta_qk, kDecay);
      moments_.query.step(w.query, gradient_.query, eta_qk, kDecay);
      moments_.bias.step(w.bias, gradient_.bias, eta_qk, kDecay);
      moments_.values.step(w.values, gradient_.values, eta_ov, kDecay);
      moments_.output.step(w.output, gradient_.output, eta_ov, kDecay);
    } else {
      // All other tokens have no gradient.
      for (const std::int32_t t : tokens_) {
        w.keys.col(t) -= eta_qk * gradient_.keys.col(t);
        w.values.col(t) -= eta_ov * gradient_.values.col(t);
      }
      w.query -= eta_qk * gradient_.query;
      w.bias -= eta_qk * gradient_.bias;
      w.output -= eta_ov * gradient_.output;
    }
    for (const std::int32_t t : tokens_) {
      gradient_.keys.col(t).setZero();
      gradient_.values.col(t).setZero();
      touched_[static_cast<std::size_t>(t)] = 0;
    }
    tokens_.clear();
    gradient_.query.setZero();
    gradient_.bias.setZero();
    gradient_.output.setZero();
    return loss;
  }

  TokenModel& model_;
  const TokenizedExamples& examples_;
  const TokenTraining& training_;
  const numerics::Interrupt& interrupted_;
  Moments moments_;  // of adamw
  TokenWeights gradient_;
  std::vector<char> touched_;         // of each token, whether it is in `tokens_`
  std::vector<std::int32_t> tokens_;  // of the batch, each once
  std::vector<std::int64_t> order_;
};

void validate(const TokenizedExamples& examples, const TokenTraining& t) {
  const auto rate = [](double eta) { return eta >= 0 && std::isfinite(eta); };
  if (examples.size() == 0 || t.batch < 1 || t.epochs < 0 || !rate(t.eta_ov) || !rate(t.eta_qk))
    throw std::invalid_argument("training needs examples, a batch, a number of epochs and two rates");
  if (t.optimizer != Optimizer::sgd && t.optimizer != Optimizer::adamw)
    throw std::invalid_argument("tokens are trained by sgd or adamw");
  if (t.loss_target && !(*t.loss_target > 0)) throw std::invalid_argument("a loss target is positive");
}

}  // namespace

TokenRun train(TokenModel& model, const TokenizedExamples& examples, const TokenTraining& training,
               const numerics::Interrupt& interrupted) {
  validate(examples, training);
  const numerics::OneThread one_thread;
  Trainer trainer(model, examples, training, interrupted);
  const auto reached = [&](double loss) { return training.loss_target && loss <= *training.loss_target; };
  TokenRun run;
  run.train_loss = model.loss(examples);
  if (reached(run.train_loss)) return run;
  for (std::int64_t epoch = 0; epoch < training.epochs; ++epoch) {
    Snapshot low = trainer.save();
    trainer.begin_epoch(epoch);
    const std::int64_t steps = trainer.steps_of_epoch();
    const bool finished = trainer.run(0, steps);
    // Without a target the loss of all examples is wanted at the end only.
    const bool wanted = training.loss_target || epoch + 1 == training.epochs;
    const double loss = finished && wanted ? model.loss(examples) : 0;
    if (!finished || !std::isfinite(loss)) {
      run.status = Status::non_finite;
      run.reason = "the loss is not finite in epoch " + std::to_string(epoch + 1) +
                   "; the values are those of the epoch before";
      trainer.restore(low);
      run.train_loss = model.loss(examples);
      return run;
    }
    if (reached(loss)) {
      std::int64_t above = 0, below = steps;
      while (below - above > 1) {
        const std::int64_t middle = (above + below) / 2;
        trainer.restore(low);
        trainer.run(above, middle);
        if (reached(model.loss(examples))) {
          below = middle;
        } else {
          above = middle;
          low = trainer.save();
        }
      }
      trainer.restore(low);
      trainer.run(above, below);
      run.steps += below;
      run.train_loss = model.loss(examples);
      return run;
    }
    run.steps += steps;
    if (wanted) run.train_loss = loss;
  }
  if (training.loss_target) {
    run.status = Status::step_limit;
    run.reason = "the training loss is still above the target after all epochs";
  }
  return run;
}

}  // namespace qksolve::flow
