// What a trained one-layer model attends to, and what that does for its predictions.
#pragma once

#include <Eigen/Core>
#include <optional>

#include "qksolve/flow/training/token_model.hpp"
#include "qksolve/numerics/statistics.hpp"

namespace qksolve::flow {

struct AttentionThresholds {
  double attention = 0.5;      // th_A
  double probability = 0.5;    // th_P
  double top_fraction = 0.05;  // share of the tokens that sufficiency keeps and comprehensiveness deletes
};

// Means over examples with their standard errors. Those of the second and third block are over the examples
// with relevant tokens, where w_l in [0, 1] is the relevance of token l.
struct TokenMeasurement {
  numerics::MeanEstimate loss, accuracy, entropy, true_probability, sufficiency, comprehensiveness;

  // Mass A = sum_l w_l a_l, that of uniform attention sum_l w_l/L, whether the token of largest attention is
  // relevant, and the shares of A > th_A (attention correct) and of those also with P > th_P (attention and
  // model correct), at the given threshold and at twice the mean uniform mass.
  numerics::MeanEstimate mass, uniform_mass, top_token_relevant, attention_correct,
      attention_and_model_correct, attention_correct_twice_uniform, attention_and_model_correct_twice_uniform;

  // The scalars of the reduced flow: u, the margin of relevant tokens (true class over the mean of the
  // others); beta, the mean score of relevant tokens less that of the others; p, the mass at this beta if all
  // relevant and all other tokens of an example had equal scores.
  numerics::MeanEstimate u, beta, p;

  // Pearson's, of A and the probability P of the true class; absent where one of them does not vary.
  std::optional<numerics::MeanEstimate> correlation;
  Eigen::MatrixXd
      heatmap;  // percent of the examples by A (rows) and P (columns), kHeatmapBins equal bins each
  static constexpr int kHeatmapBins = 5;
};

// Throws std::invalid_argument where no example has a relevant token.
TokenMeasurement measure(const TokenModel& model, const TokenizedExamples& examples,
                         const AttentionThresholds& thresholds);

}  // namespace qksolve::flow
