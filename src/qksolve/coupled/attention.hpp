// Attention softmax(q k'/sqrt d) of a context of T tokens: what it measures, and what is predicted for
// independent tokens with q, k ~ N(0, I) before the map. Predictions hold for large T and d, or to the order
// in h that is named.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "qksolve/coupled/map.hpp"
#include "qksolve/numerics/random_normals.hpp"

namespace qksolve::coupled {

// A statement that is true in a limit, or one that theory does not predict.
struct Observation {
  std::string quantity;
  double measured = 0;
  double measured_error = 0;  // of the method, as far as the scatter between draws does not show it
  std::optional<double> predicted;
  std::string unknown{};  // why nothing could be measured; empty where it was
};

// A slope or a ratio is measured only where the smallest value it is taken from exceeds the bound on its
// rounding errors by this factor.
inline constexpr double kAboveRounding = 10;

// T x T, column i: the logits of query i with every key, and the attention it pays them, whose entropies are
// returned. What takes an interrupt, here and below, throws numerics::Interrupted.
Eigen::MatrixXd attention_logits(const State& state, const numerics::Interrupt& interrupted = {});
Eigen::VectorXd softmax_columns(Eigen::MatrixXd& logits, const numerics::Interrupt& interrupted = {});

// Of the evolved `state`, T >= 2, in this order (a is the attention of one query, means are over queries):
// diagonal_logit_mean, diagonal_logit_variance, offdiagonal_logit_mean, offdiagonal_logit_variance;
// entropy: -sum a log a; concentration: T sum a^2; self_attention: T times the attention of a token to
// itself; sigma_1, sigma_ratio: sigma_1/sigma_2 of the attention matrix; effective_rank: exp of the entropy
// of the normalised singular values. The spectrum is computed as in numerics/singular_values.hpp; the ratio
// is unknown where sigma_2 is not kAboveRounding.
std::vector<Observation> measure_attention(const State& state, const numerics::RandomStream& probes,
                                           const numerics::Interrupt& interrupted = {});

// The same quantities as predicted, where they are.
//   diagonal_logit_mean: sqrt(d) n h (1 + E tr Df/d), to first order in n h, for Euler (one step: exactly),
//     semi-implicit and leapfrog; for the others the mean of the off-diagonal.
//   diagonal_logit_variance: Euler, one step: 1 + 2 h^2 + (h^2 Var(q . f) + 2 h^2 E tr Df + h^4 E|f|^2)/d;
//   that of
//     the off-diagonal where q and k stay independent.
//   offdiagonal_logit_mean, _variance: mu_q . mu_k/sqrt(d) and tr(M_q M_k)/d less its square, mu and M the
//   first
//     and second moments of the evolved q and k. For Euler, one step, that is (1 + h^2)(1 + h^2 E|f|^2/d).
//   entropy: log T - var/2; concentration: e^var, var the predicted off-diagonal variance.
//   self_attention: exp of the difference of means plus half that of the variances, as for Gaussian logits.
//   sigma_1: 1. sigma_ratio: T sqrt(d)/(sqrt T + sqrt d)^2, standard attention only.
// The moments are averages over `reference`, tokens independent of those that are measured, one half of them
// for queries and one for keys. Where the initial q, k are not N(0, I), pass false: what relies on it is left
// out.
std::vector<std::optional<double>> predict_attention(const Map& map, const State& reference, int context,
                                                     bool standard_normal,
                                                     const numerics::Interrupt& interrupted = {});

// Of the dynamics by themselves, means over the tokens of `start`, their errors those of rounding to leading
// order in n h:
//   reversibility_defect: |F Phi F Phi z - z|; for Euler and semi-implicit steps predicted to leading order
//   in
//     n h, n h^2 sqrt(|f|^2 + |Df k|^2).
//   key_gap (leapfrog, one step): |k_leapfrog - k_euler|, -> (h^2/2) |Df k|.
//   energy_drift, for a coupling with potential V, H = |k|^2/2 + V: H_n - H_0; for Euler predicted to leading
//     order, (n h^2/2)(|f|^2 - k . Df k).
//   energy_order: log2 of the ratio of root mean squares of H_n - H_0 when h is halved at fixed n h, from h/8
//   to
//     h/16 (its error: the change from h/4 to h/8, and rounding); predicted 1 for Euler and semi-implicit
//     steps, 2 for leapfrog. Unknown where H_n - H_0 is not kAboveRounding.
std::vector<Observation> observe_dynamics(const Map& map, const State& start,
                                          const numerics::Interrupt& interrupted = {});

}  // namespace qksolve::coupled
