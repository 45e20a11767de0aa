// Bayes-optimal approximate message passing at finite dimension, for labels that show the teacher's
// preactivations z_l = h*_l/sigma_l up to one common sign. With X the tokens over sigma, w the estimate of Q*
// (d) and V its variance per entry,
//   omega = X w/sqrt(d) - V g,  g = (z tanh(z.omega/V) - omega)/V,  Lambda = -(1/d) sum dg_l/domega_l,
//   w <- (X'g/sqrt(d) + Lambda w)/(1 + Lambda),  V <- 1/(1 + Lambda).
// As d grows the overlap follows the scalar recursion phase::bayes::step.
#pragma once

#include <Eigen/Core>
#include <functional>

#include "qksolve/phase/finite_size/draws.hpp"

namespace qksolve::phase {

struct BayesStart {
  Eigen::VectorXd w;  // d
  double variance;    // V > 0
};

// q Q* + sqrt(q (1 - q)) noise with V = 1 - q, a Bayes-optimal estimate of overlap q in [0, 1).
BayesStart informed_start(const FiniteSize<double>& instance, double q);
// Entries N(0, .1^2), V = 1: knows nothing.
BayesStart random_start(const FiniteSize<double>& instance);

struct BayesPoint {
  int iteration;
  double q;         // |w.Q*|/d
  double mse;       // |w - Q*|^2/d, or with the other sign, whichever is less
  double variance;  // V
};

// non_finite: |w|^2/d passed 10, which no posterior mean does; the last good step is the end.
enum class BayesRunStatus { converged, iteration_limit, non_finite };

struct BayesRun {
  BayesPoint end;
  BayesRunStatus status;
  double residual;  // |w(t+1) - w(t)|/sqrt(d) of the last step
};

// Until a step is below `tolerance`, or `iterations` steps. Needs teacher rank one and omega < 1, else
// std::invalid_argument. `observe` gets every point, the start first; false ends the run.
BayesRun bayes_message_passing(const FiniteSize<double>& instance, const BayesStart& start, int iterations,
                               double tolerance, const std::function<bool(const BayesPoint&)>& observe = {});

}  // namespace qksolve::phase
