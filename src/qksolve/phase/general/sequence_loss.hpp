// What the general state evolution has to know of a sequence multi-index model, and the attention model in
// these terms.
//
// A sample reaches the learner through the preactivations of its L tokens only: z (L x r) those of the
// student, h (L x r*) those of the teacher, which fix the label of the sample. State evolution needs the loss
// as a function of z and the label, with two derivatives in z. A model is one SequenceLoss; the proximal map,
// the quadrature, branches, thresholds and commands ask for nothing else (README, "Another model").
#pragma once

#include <functional>

#include "qksolve/numerics/pack.hpp"
#include "qksolve/phase/model.hpp"

namespace qksolve::phase {

// Every argument is an array of Packs: kLanes samples side by side, one in each lane.
struct SequenceLoss {
  int label_size = 0;
  // Writes the label (label_size entries) of samples with teacher preactivations h[l r* + k].
  std::function<void(const numerics::Pack* h, numerics::Pack* label)> label;
  // The loss, at least 0, at student preactivations z[l r + k]. Unless they are null it writes the gradient
  // (L r entries) and the Hessian (L r x L r, all entries).
  std::function<numerics::Pack(const numerics::Pack* z, const numerics::Pack* label, numerics::Pack* gradient,
                               numerics::Pack* hessian)>
      value;
  // Loss of the best predictor that does not see the sample, from the means of the entries of the label and
  // of their squares.
  std::function<double(const double* mean, const double* mean_square)> baseline;
};

// Dot-product attention, arXiv 2402.03902: the label is the teacher's attention matrix T (row by row), and
//   loss = 1/2 tr (S - T) D (S - T)',   S = softmax_rows(z z'),   D = diag(sigma_l^2).
SequenceLoss attention_loss(const Model& model);

}  // namespace qksolve::phase
