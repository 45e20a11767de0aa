// The one-layer model on sequences of tokens t_1 ... t_L from a vocabulary, with one-hot embeddings and one
// query that all sequences share:
//   attention a = softmax_l(k(t_l) + b(L + 1 - l)),   logits z = sum_l a_l v(t_l),   cross-entropy of a
//   class.
// Collapsed attention has a number k(t) for each token, factorized attention k(t) = K_t . q with K_t and q of
// the inner dimension D; collapsed output-value has a vector v(t) of the C classes, factorized v(t) = O W_t.
// b is a number for each distance from the end, the last one for all beyond, and belongs to the query-key
// circuit. Tokens are left out by giving their attention to the others in proportion, which is exact here.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "qksolve/data/annotated/annotated.hpp"
#include "qksolve/flow/theory/model.hpp"
#include "qksolve/flow/training/metrics.hpp"

namespace qksolve::flow {

struct TokenModelOptions {
  Parameterization parameterization;
  std::int32_t vocabulary = 1, classes = 2;
  int inner_dimension = 16;    // D >= 1
  int positions = 0;           // distances with a b of their own, >= 0; 0: no b
  double init_scale = 0.3;     // s > 0: factors start as normal numbers of variance s^2/D, and |q| = s
  bool start_at_zero = false;  // of collapsed circuits, else as the product of the factors of the same seed
  bool uniform = false;        // attention starts uniform, and stays so if it is not trained
  std::uint64_t seed = 0;
};

// Weights, or their gradient. Circuits that are collapsed have no `query`, no `output`.
struct TokenWeights {
  Eigen::MatrixXd keys;    // 1 x vocabulary: k, or D x vocabulary: K
  Eigen::MatrixXd query;   // D x 1: q
  Eigen::MatrixXd bias;    // positions x 1: b
  Eigen::MatrixXd values;  // C x vocabulary: v, or D x vocabulary: W
  Eigen::MatrixXd output;  // C x D: O
};

using training::TokenizedExamples;

class TokenModel {
 public:
  // Throws std::invalid_argument for options out of range.
  explicit TokenModel(const TokenModelOptions& options);

  const TokenModelOptions& options() const { return options_; }
  TokenWeights weights;

  // Mean over all examples.
  double loss(const TokenizedExamples& examples) const;
  // Adds `scale` times the gradient of the loss of example i to `gradient`, and its loss is returned.
  double add_gradient(const TokenizedExamples& examples, std::int64_t i, double scale,
                      TokenWeights& gradient) const;
  TokenWeights zero_gradient() const;
  // Scores k + b of the tokens of example i.
  Eigen::VectorXd scores(const TokenizedExamples& examples, std::int64_t i) const;
  // Attention and logits of its tokens; relevant are those of positive weight.
  AttendedSequence attend(const TokenizedExamples& examples, std::int64_t i) const;

 private:
  TokenModelOptions options_;
};

}  // namespace qksolve::flow
