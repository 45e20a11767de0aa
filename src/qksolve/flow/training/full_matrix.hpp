// The one-layer model with full matrices: attention a = softmax_l(x_l' W_QK x_q) over the tokens of a
// sequence, logits W_OV sum_l a_l x_l, cross-entropy with the class. Trained by exact population gradients or
// by mini-batches, and projected on the scalars of the reduced flow.
//
// Keys are the C b distinct tokens (class by class) and the K common ones; query tokens are no keys: one for
// all classes, one per class, or b per class. With one query per class or more the keys of the common tokens
// are held fixed (their gradient is left out), as in the reduced flow.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qksolve/flow/theory/model.hpp"
#include "qksolve/flow/theory/trajectory.hpp"
#include "qksolve/flow/training/metrics.hpp"
#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::flow {

// gd: steps of length step_size along the negative population gradient. rk4: Runge-Kutta steps of the
// gradient flow. sgd: gd with mini-batches. adamw: Adam with decoupled weight decay .01 (beta1 .9, beta2
// .999, epsilon 1e-8).
enum class Optimizer { gd, sgd, adamw, rk4 };
// aligned: on the line of the reduced flow, at Model::start with the model's imbalances. identity: each
// factor init_scale times the (rectangular) identity. random: entries of the factors N(0, init_scale^2). A
// collapsed matrix starts as the product of such factors.
enum class Init { aligned, identity, random };
// Rows of the token matrix: orthonormal, or Gaussian with variance 1/d (norm and overlaps 1 and 0 up to
// 1/sqrt d).
enum class Embedding { orthogonal, gaussian };

struct Training {
  int dimension = 1000;     // d, at least the number of tokens
  int inner_dimension = 0;  // of each product; at least C if aligned. 0: C if aligned, else d
  Embedding embedding = Embedding::orthogonal;
  Init init = Init::aligned;
  double init_scale = 1e-2;  // > 0
  Optimizer optimizer = Optimizer::gd;
  double step_size = 1;       // of t, > 0: the learning rates are step_size times those of the model
  std::int64_t steps = 1000;  // >= 0
  int batch = 0;              // sequences of a mini-batch; 0: population gradient (not for sgd)
  std::uint64_t seed = 0;     // of embeddings, random initial values and batches
};

// Number of tokens, keys and queries together.
std::int64_t vocabulary(const Task& task);

// One sequence, or the expected one of a class: `keys` and how often each occurs.
struct Example {
  int label = 0, query = 0;
  double probability = 0;
  std::vector<int> keys;
  std::vector<double> counts;
};

// Every class with each of its queries; a distinct token occurs m/b times and a common one n/K times.
std::vector<Example> population(const Task& task);

// Sequences with class, query, distinct and common tokens drawn independently and uniformly, each with
// probability 1/count. The same seed gives the same sequences.
std::vector<Example> draw_sequences(const Task& task, int count, std::uint64_t seed,
                                    const numerics::Interrupt& interrupted = {});

// The trained matrices. W_QK = qk[0] (d x d), or qk[0]' qk[1] (inner x d each); W_OV = ov[0] (C x d), or
// ov[0] ov[1] (C x inner, inner x d).
struct Weights {
  std::vector<Eigen::MatrixXd> qk, ov;
};

struct Measurement {
  std::int64_t step = 0;
  double t = 0;
  // Averages over classes and queries: u of the logits of a distinct token, beta of its score, attention mass
  // on distinct tokens, margin of the true class over the mean of the others, cross-entropy.
  double u = 0, beta = 0, attention = 0, margin = 0, loss = 0;
  // Rounding of the run, (step + 1) 8 eps of each value; and where the run is one of gradient descent or
  // Runge-Kutta steps along the line of the reduced flow (follows_line) what its finite steps add: twice the
  // difference to steps an eighth of the size. Everything else that tells a run from the flow is no error of
  // the run.
  double u_error = 0, beta_error = 0, attention_error = 0, margin_error = 0, loss_error = 0;
  // |X - X_line|/|X| in the Frobenius norm, for the token logits X = W_OV E' and the scores X = E W_QK E'.
  double off_line_ov = 0, off_line_qk = 0;
};

// The sizes of the two factors of one mode: their product and the difference of their squares.
std::pair<double, double> factor_sizes(double product, double imbalance);

class FullModel {
 public:
  // Throws std::invalid_argument for a model or training that is out of range, or d smaller than the
  // vocabulary. Where `interrupted` turns true this and everything below that takes long throw
  // numerics::Interrupted.
  FullModel(const Model& model, const Training& training, const numerics::Interrupt& interrupted = {});

  Weights& weights() { return weights_; }
  const std::vector<Example>& examples() const { return population_; }
  double loss(const std::vector<Example>& examples) const;
  // d loss/d weights. With frozen common keys their part is left out.
  Weights gradient(const std::vector<Example>& examples) const;
  // weights -= step_size eta gradient, without forming the d x d gradient of a collapsed W_QK: its rank is
  // the number of queries.
  void descend(const std::vector<Example>& examples, double step_size);
  Measurement measure() const;  // u ... loss, off_line_ov, off_line_qk
  // Attention metrics of each sequence, with top_count(top_fraction, L) top tokens; counts must be whole
  // numbers.
  std::vector<SequenceMetrics> metrics(const std::vector<Example>& sequences, double top_fraction) const;

  const Model& model() const { return model_; }
  const Training& training() const { return training_; }
  const numerics::Interrupt& interrupted() const { return interrupted_; }

 private:
  struct Forward;
  Forward forward(const std::vector<Example>& examples, bool with_gradient) const;
  std::vector<Eigen::MatrixXd> qk_gradient(const Forward& f) const;
  std::vector<Eigen::MatrixXd> ov_gradient(const Forward& f) const;
  void start(std::uint64_t seed);

  Model model_;
  Training training_;
  numerics::Interrupt interrupted_;
  bool frozen_;
  Eigen::MatrixXd keys_, queries_;  // tokens x d
  std::vector<Example> population_;
  Weights weights_;
};

// Whether population gradient, orthonormal embeddings and aligned start keep the matrices on the line of the
// reduced flow. What is left of them are the sizes of the factors' one mode.
bool follows_line(const Training& training);

// Such a run by the same steps for these sizes alone, in any dimension: full matrices differ from it by
// rounding.
class LineRun {
 public:
  LineRun(const Model& model, Optimizer optimizer, double step_size);
  // The state after `step` steps, not fewer than at the last call. Throws numerics::Interrupted.
  State after(std::int64_t step, const numerics::Interrupt& interrupted = {});

 private:
  // Sizes of the factors of both circuits' one mode; a collapsed matrix is the first, and the second 1.
  struct Sizes {
    double key, query, out, value;
  };
  Sizes velocity(const Sizes& sizes) const;
  State state(const Sizes& sizes) const;

  Model model_;
  Optimizer optimizer_;
  double step_size_;
  Sizes sizes_;
  std::int64_t step_ = 0;
};

struct TrainingRun {
  std::vector<Measurement> measurements;  // the finite ones
  Status status = Status::converged;      // or non_finite
  std::string reason;
};

// Trains and measures at `record_steps` (ascending, each in [0, steps]); stops early when a value is not
// finite. `measured` is called with each measurement as it is made. Throws numerics::Interrupted where the
// model's interrupt turns true.
TrainingRun train(FullModel& full, const std::vector<std::int64_t>& record_steps,
                  const std::function<void(const Measurement&)>& measured = {});

}  // namespace qksolve::flow
