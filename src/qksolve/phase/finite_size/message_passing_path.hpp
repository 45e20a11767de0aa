// Message passing in the limit of large d: what its overlaps do step by step.
#pragma once

#include <cstdint>
#include <vector>

#include "qksolve/phase/finite_size/message_passing.hpp"

namespace qksolve::phase {

struct PathPrediction {
  // Each 1 x 1, in the units of the theory, with the standard error over independent replicates.
  Overlaps overlaps, error;
};

struct PathOptions {
  int log2_paths = 13;  // 2^log2_paths Gaussian paths in a replicate, 3 to 26
  int replicates = 8;   // >= 2
  std::uint64_t seed = 0;
};

// Element t: the overlaps of message_passing after t steps, t = 0 .. steps, from a start whose overlaps (its
// V included, > 0) are given, with `damping` as there and the slope of the forces by parts. With damping the
// overlaps do not obey a recursion of their own: the field of a token is
//   w_t = B m_t + sigma (theta_t zeta + m_t epsilon + rho_t),   rho_t = sum_s W_ts g_s + damping^t rho_0,
// where W_ts are the weights with which the iteration mixes its past, zeta and epsilon the token's components
// along Q* and e, and g_s, the noise of gamma, is Gaussian with covariance alpha sigma^2 sum_l E[f_t f_s]
// between steps. The expectations are taken over randomised quasi-random samples of such paths. Overlaps that
// vanish at the start stay zero. Needs is_two_token(model), else std::invalid_argument. Throws
// numerics::Interrupted.
std::vector<PathPrediction> predict_message_passing(const Model& model, double alpha, const Overlaps& start,
                                                    int steps, double damping,
                                                    const PathOptions& options = {},
                                                    const numerics::Interrupt& interrupted = {});

}  // namespace qksolve::phase
