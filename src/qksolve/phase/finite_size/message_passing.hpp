// Approximate message passing for the two-token, rank-one model at finite dimension.
#pragma once

#include <functional>

#include "qksolve/numerics/minimizers.hpp"
#include "qksolve/phase/equations/state_evolution.hpp"
#include "qksolve/phase/finite_size/draws.hpp"
#include "qksolve/phase/two_token/proximal.hpp"

namespace qksolve::phase {

struct MessagePassingOptions {
  double tolerance = 1e-8;  // on |(lambda + v) Q - gamma|_2 and on the relative change of V, > 0
  int iterations = 1000;    // >= 1
  double damping = 0.75;    // weight of the old value, in [0, 1)
  double variance = 50.0;   // V of the start, > 0
  // How the average slope of the forces is estimated: `total` by parts, which counts the jumps of the
  // proximal map, `classical` by its derivative. Both have the same fixed points; `total` follows the
  // replica-symmetric theory.
  Response response = Response::total;
};

struct MessagePassingResult {
  numerics::Minimum minimum;
  double variance;         // V of the last step
  std::int64_t switching;  // samples whose proximal point changed wells within the last 100 steps
};

struct MessagePassingStep {
  int iteration;
  const Eigen::MatrixXd& Q;
  double variance;
};

// Iterates, with forces f = (z - w)/(sigma^2 V) at the proximal point z of the field w of every token,
//   w = (x + p) Q/sqrt(d) - sigma^2 o,   gamma = sum (x + p)' f/sqrt(d) + v Q,   v = -(sigma^2/d) sum df/dw,
//   Q <- mix(Q, gamma/(lambda + v)),     o <- mix(o, f/(lambda + v)),            V <- mix(V, 1/(lambda + v)),
// mix(old, new) = damping old + (1 - damping) new; damping o with the same weight keeps the Onsager term
// exact. Far from a minimum lambda + v may be negative: it is kept above lambda/2. The proximal map is that
// of the limit, with G = sigma^2 d I and without |S p|^2: a fixed point is a stationary point of the risk
// with these replaced, and of the risk itself only up to fluctuations that vanish with d. `value` and
// `gradient_norm` of the result are those of the risk at its x = Q. The status is non_finite when a value
// overflows; Q is then the last good one.
//
// Where the proximal map jumps the iteration need not settle, at whatever damping: V is an average, and a
// sample whose own response is below V has no consistent state while its field is within the gap that its
// jump opens; it switches between its two wells for ever, and the overlaps circle in a narrow band. This is
// the breakdown of replica symmetry seen from inside, and common on the positional branch. `switching` counts
// such samples. Needs is_two_token(model), else std::invalid_argument.
template <class Store>
MessagePassingResult message_passing(const FiniteSize<Store>& instance, const Eigen::MatrixXd& start,
                                     const MessagePassingOptions& options,
                                     const std::function<bool(const MessagePassingStep&)>& observe = {});

// Parts of a step, which its prediction in the limit shares.
// sum_l df_l/dw_l times sigma^2 V, the proximal map's jumps left out.
numerics::Pack proximal_slope(const ProximalPoint& point, double tau);
// Whether the slope is estimated by parts. There is nothing to divide by when the field is a function of h*,
// as at the start Q = Q*; `free_variance` is its variance given h*, q its total one.
bool by_parts(Response response, double q, double free_variance);
// lambda + v, kept positive.
double precision_from_slope(double lambda, double v);

extern template MessagePassingResult message_passing(const FiniteSize<double>&, const Eigen::MatrixXd&,
                                                     const MessagePassingOptions&,
                                                     const std::function<bool(const MessagePassingStep&)>&);
extern template MessagePassingResult message_passing(const FiniteSize<float>&, const Eigen::MatrixXd&,
                                                     const MessagePassingOptions&,
                                                     const std::function<bool(const MessagePassingStep&)>&);

}  // namespace qksolve::phase
