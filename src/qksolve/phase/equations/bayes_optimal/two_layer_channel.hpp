// The two-layer sequence model of arXiv 2502.00901 at L = 2 tokens, tied weights of rank one, skip strength
// c: a sample has the preactivations z1, z2 ~ N(0, I_2) of two independent teachers, one a layer, and the
// label shows, up to its sign,
//   u = (softmax(z1 z1') + c I) z2.
// With the Gaussian prior of state_evolution.hpp for either teacher, q2 = 0 is a fixed point; what is known
// of a sample there is G(u) = E[z2 z2' | u] - I.
#pragma once

#include "qksolve/phase/equations/bayes_optimal/weak_threshold.hpp"

namespace qksolve::phase::bayes {

// alpha2 = 1/E|G|_F^2: samples per dimension above which the second layer is learnt while nothing is known of
// the first. At least 1/6, what it is where z2 is known up to its sign: the limit of large c. c in [0.05,
// 100]. Deterministic; the error is the change from a rule with two thirds of the nodes in each of four
// directions.
WeakThreshold second_layer_threshold(double c, double tolerance);

}  // namespace qksolve::phase::bayes
