// The Bayes-optimal limit of the positional/semantic teacher (r* = 1, noiseless labels, omega < 1): what any
// algorithm can know from n = alpha d samples. The teacher has independent N(0, 1) entries, its posterior
// mean the overlap q with it per dimension. State evolution (Barbier et al., PNAS 2019, for generalised
// linear models):
//   q_hat = alpha E|g|^2,  q = q_hat/(1 + q_hat),
// with the channel of sign_channel.hpp. q does not depend on omega, A, sigma or the positional encoding.
#pragma once

#include <functional>
#include <optional>

#include "qksolve/phase/equations/bayes_optimal/sign_channel.hpp"

namespace qksolve::phase::bayes {

// A state by q in [0, 1] and mse = 1 - q, each with its digits.
struct State {
  double q, mse;
};

// Where a function that increases with q in (0, 1) is zero, to the last digits of q or of 1 - q, whichever is
// smaller; q = 0 or q = 1 where it is so near to an end that rounding has the word.
State increasing_root(const std::function<double(const State&)>& function);

// Posterior mean of a Gaussian prior at the information q_hat >= 0: its overlap and its error.
State gaussian_prior(double q_hat);

// One step of the state evolution. At mse = 0 the state stays.
State step(const SignChannel& channel, double alpha, const State& state);

// The alpha at which a state is a fixed point; at q = 0 its limit 1/(L (L + 1)).
double fixed_point_alpha(const SignChannel& channel, const State& state);

// Free entropy per dimension, against the model in which labels and tokens are independent; its stationary
// points in q are the fixed points. Unknown, for it grows without bound, at mse = 0 and alpha > 1/L.
std::optional<double> free_entropy(const SignChannel& channel, double alpha, const State& state);

struct Solution {
  State state;
  double q_error, mse_error;
  std::optional<double> free_entropy;
  double free_entropy_error = 0;
};

// The state with the largest free entropy at a given alpha > 0, for tokens in [2, 64]. There alpha(q)
// increases, so that it is the only stable one. Errors are those of the integrals and of rounding.
// Throws std::invalid_argument.
Solution solve(int tokens, double alpha);

// Limits of what n = alpha d samples allow.
struct Thresholds {
  double weak;         // above: some overlap, also in polynomial time; 1/(L (L + 1))
  double it;           // above: nothing but the whole teacher fits the labels; 1/L
  double algorithmic;  // above: the state evolution from q = 0 ends at q = 1
  double
      linear_algebra;  // above: linear equations in the teacher decide it; 1/(L - 1), infinite for one token
};

// tokens in [1, 64]. The largest of alpha(q) on a grid, refined to 1e-12, is `algorithmic`.
Thresholds thresholds(int tokens);

}  // namespace qksolve::phase::bayes
