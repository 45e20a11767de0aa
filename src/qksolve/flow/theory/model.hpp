// One-layer softmax attention that tells the class of a sequence from the tokens that belong to it, trained
// by gradient flow from a symmetric start (Vashisht & Ramaswamy, "Faster Query-Key Learning Sharpens
// Attention in Self-Attention Models"). Population gradient and orthonormal embeddings reduce it to two
// scalars:
//   u     margin of the true class per unit of attention on the distinct tokens (output-value circuit),
//   beta  score of a distinct token minus score of a common one (query-key circuit).
#pragma once

#include <string>

namespace qksolve::flow {

// Each circuit is one matrix (collapsed) or a product of two (factorized).
struct Parameterization {
  bool factorized_qk = false, factorized_ov = false;
  bool operator==(const Parameterization&) const = default;
  std::string name() const;  // CACO, FACO, CAFO, FAFO: the letters before A (attention) and O (output-value)
};
inline constexpr Parameterization kParameterizations[] = {
    {false, false}, {true, false}, {false, true}, {true, true}};

// How queries are chosen. shared: one query token for all classes. per_class: one for each class. paper: as
// many for each class as it has distinct tokens. The last two hold the keys of the common tokens fixed
// (infinitely many).
enum class Query { shared, per_class, paper };

// Counts, all >= 1 except classes >= 2. A sequence holds `distinct_per_sequence` tokens from the pool of its
// class and `common_per_sequence` common tokens; repetitions are counted.
struct Task {
  int classes = 20;               // C
  int pool = 50;                  // b, distinct tokens of one class
  int common = 50;                // K, common tokens; not used by per_class and paper
  int distinct_per_sequence = 5;  // m
  int common_per_sequence = 50;   // n
  Query query = Query::paper;

  double kappa() const { return static_cast<double>(distinct_per_sequence) / common_per_sequence; }
  double ov_constant() const;    // c1 = 1/(b(C-1))
  double qk_constant() const;    // c2 = 1/(Cb) + 1/K, 1/(Cb), 1/(C b^2)
  double qk_multiplier() const;  // qm = 1/c2, b, b^2: |W_QK|^2 = qm beta^2 for one mode of W_QK
};

// u, beta at one time.
struct State {
  double u = 0, beta = 0;
};

// The reduced flow
//   u'    = eta_ov c1 p g(s) phi_O,           phi_O = 1 or sqrt(imbalance_ov^2 + 4 b u^2)      (factorized)
//   beta' = eta_qk c2 u p (1-p) g(s) phi_Q,   phi_Q = 1 or sqrt(imbalance_qk^2 + 4 qm beta^2)  (factorized)
// with attention p = kappa e^beta/(1 + kappa e^beta), margin s = p u and g = (C-1)/(C-1+e^s) = -d loss/d s.
// An imbalance is the conserved difference of the squared singular values of a circuit's two factors.
struct Model {
  Task task;
  Parameterization parameterization;
  double eta_ov = 1, eta_qk = 1;              // learning rates, > 0
  double imbalance_ov = 0, imbalance_qk = 0;  // finite
  State start{0.05, 0.05};                    // u >= 0, 0 <= beta <= 500

  double attention(double beta) const;          // p
  double attention_missing(double beta) const;  // 1 - p, to full relative precision
  double margin(const State& state) const { return attention(state.beta) * state.u; }
  double gate(double margin) const;             // g
  double loss(double margin) const;             // log(1 + (C-1) e^{-s})
  double margin_of_loss(double loss) const;     // the inverse, loss > 0
  double ov_factor(double u) const;             // phi_O
  double qk_factor(double beta) const;          // phi_Q
  State velocity(const State& state) const;     // d/dt
  double rate_ratio() const;                    // r = eta_qk c2/(eta_ov c1)
  double beta_slope(const State& state) const;  // d beta/d u = r u (1-p) phi_Q/phi_O

  // Throws std::invalid_argument naming the first member that is out of range.
  void validate() const;
  // A balanced product that starts at zero has zero gradient for ever.
  bool ov_never_moves() const;
  bool qk_never_moves() const;
};

}  // namespace qksolve::flow
