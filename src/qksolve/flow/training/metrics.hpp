// How well attention explains a prediction.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "qksolve/flow/theory/model.hpp"

namespace qksolve::flow {

// One sequence of L tokens.
struct AttendedSequence {
  Eigen::VectorXd attention;     // L, positive, sum 1
  Eigen::MatrixXd token_logits;  // C x L: logits of the sequence are token_logits attention
  std::vector<bool> relevant;    // L: whether the token tells the class
  int label = 0;                 // true class
};

// f is the probability of the predicted class (the largest logit of the whole sequence, the first of equal
// ones). The top tokens are the `top` of largest attention, the first of equal ones. Deleting tokens leaves
// the attention of the others in proportion; without any token all logits are zero.
struct SequenceMetrics {
  double mass = 0;               // A, attention on relevant tokens
  double entropy = 0;            // -sum_l a_l ln a_l
  double true_probability = 0;   // P, of the true class
  double sufficiency = 0;        // f(all) - f(top tokens only)
  double comprehensiveness = 0;  // f(all) - f(all but the top tokens)
};

// max(1, ceil(fraction L)), fraction in (0, 1].
int top_count(double fraction, int length);

SequenceMetrics sequence_metrics(const AttendedSequence& sequence, int top);

// The same in the reduced model, where the m distinct tokens have equal attention and so have the n common
// ones. For top = m these are sufficiency = P(p u) - P(u), comprehensiveness = P(p u) - 1/C, P(s) = 1/(1 +
// (C-1) e^{-s}).
SequenceMetrics reduced_metrics(const Model& model, const State& state, int top);

struct MetricSummary {
  SequenceMetrics mean, standard_error;
  double attention_correct = 0;            // AC: share of sequences with A > attention_threshold
  double attention_and_model_correct = 0;  // ACMC: of those with also P > probability_threshold
  Eigen::MatrixXd
      heatmap;  // bins x bins, percent of sequences by A (rows) and P (columns), equal bins of [0, 1]
};

// At least one sequence, bins >= 1.
MetricSummary summarize(const std::vector<SequenceMetrics>& sequences, double attention_threshold,
                        double probability_threshold, int bins);

}  // namespace qksolve::flow
