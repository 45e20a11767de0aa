// The synthetic next-token experiment of Vashisht & Ramaswamy (figures 2 and 3). A vocabulary of 50 one-hot
// tokens: 10 common ones and 10 distinct ones of each of 4 classes. A sequence is 62 context tokens, each a
// common token with weight 1 or a distinct one of the sequence's class with weight .1, .2 ... 1.0, then a
// query, then the label, which is predicted. Labels and queries, one of each per class, are common tokens,
// and the query is a key like the 62. Scores W_QK of key and query, softmax over the 63 keys, logits W_OV of
// the 4 labels (with logits of all 50 tokens the losses of figure 3 come out up to 1.5 times as large).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "qksolve/flow/theory/model.hpp"
#include "qksolve/flow/theory/trajectory.hpp"
#include "qksolve/flow/training/metrics.hpp"
#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::flow {

struct Synthetic {
  static constexpr int classes = 4, distinct = 10, common = 10, context = 62;
  static constexpr int vocabulary = classes * distinct + common;  // class by class, then the common ones
  static constexpr int keys = distinct + common;                  // that a sequence of one class may hold
  static constexpr int epoch = 250;                               // mini-batches
};

struct SyntheticTraining {
  Parameterization parameterization;
  double eta_ov = 0.01, eta_qk = 0.01;     // > 0
  double init_scale = 1e-6;                // every factor starts as this multiple of the identity, > 0
  int batch = 32;                          // sequences, drawn anew for every step, >= 1
  std::int64_t steps = 100000000;          // at most, >= 0
  std::optional<double> loss_target;       // ends after the first epoch with a mean loss of at most this
  std::optional<double> frozen_attention;  // attention on the distinct tokens, in [0, 1]; W_QK is not trained
  std::uint64_t seed = 0;
};

class SyntheticModel {
 public:
  // Column i: how often sequence i of a class holds each of its keys, the distinct ones first.
  using Counts = Eigen::Matrix<double, Synthetic::keys, Eigen::Dynamic>;
  using Batch = std::vector<Counts>;  // one for each class

  // Throws std::invalid_argument for a training that is out of range.
  explicit SyntheticModel(const SyntheticTraining& training);

  static Batch draw(int count, std::mt19937_64& random, const numerics::Interrupt& interrupted = {});

  const SyntheticTraining& training() const { return training_; }
  double loss(const Batch& batch) const { return forward(batch, false).loss; }
  // One step of stochastic gradient descent; returns the loss before it.
  double descend(const Batch& batch);
  // Of every sequence, with top_count(top_fraction, 63) top tokens.
  std::vector<SequenceMetrics> metrics(const Batch& batch, double top_fraction,
                                       const numerics::Interrupt& interrupted = {}) const;

  // Factors, W = first' second (QK) or first second (OV); a collapsed matrix is alone. Of W_QK only the
  // columns of the queries are kept and of W_OV the rows of the labels: no others are ever used.
  std::vector<Eigen::MatrixXd> qk, ov;

 private:
  struct Forward {
    double loss = 0;
    Eigen::MatrixXd logits_gradient, scores_gradient;  // by the logits of each token, by W_QK of each query
  };
  Forward forward(const Batch& batch, bool with_gradient) const;
  Eigen::MatrixXd scores() const;  // vocabulary x classes
  Eigen::MatrixXd logits() const;  // classes x vocabulary
  // Attention of the sequences of one class, same shape as `counts`.
  Counts attend(const Eigen::MatrixXd& scores, int label, const Counts& counts) const;

  SyntheticTraining training_;
};

struct SyntheticRun {
  std::int64_t steps = 0;
  double loss = 0, loss_error = 0;    // mean and its standard error over the batches of the last whole epoch
  Status status = Status::converged;  // iteration_limit: the target was not reached; non_finite
  std::string reason;
};

// Trains until the loss target is reached, or for all steps if there is none. When the loss is no longer
// finite the model goes back to the end of the last whole epoch. Throws numerics::Interrupted.
SyntheticRun train(SyntheticModel& model, const numerics::Interrupt& interrupted = {});

}  // namespace qksolve::flow
