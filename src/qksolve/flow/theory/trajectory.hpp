// The reduced flow at given times and losses, by two independent routes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qksolve/flow/theory/model.hpp"
#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::flow {

// In the order of the names in status_name.
enum class Status { converged, step_limit, iteration_limit, non_finite, failed };
std::string status_name(Status status);

struct Request {
  std::vector<double> times;   // finite, >= 0, ascending
  std::vector<double> losses;  // > 0, any order: where the loss first comes down to each of them
  std::vector<double> betas;   // where beta first reaches each of them
  double end = 1e12;           // the search for losses and betas stops here, > 0 and not before the last time
  double tolerance = 1e-10;    // relative, on everything reported and on the drift of the invariant
  int step_limit = 20000;      // steps or panels
  numerics::Interrupt interrupted;  // true: numerics::Interrupted is thrown
};

// The state at one time. Errors are absolute and bound the difference to the exact solution.
struct Point {
  double t = 0, u = 0, beta = 0, attention = 0, margin = 0, loss = 0;
  double t_error = 0, u_error = 0, beta_error = 0, attention_error = 0, margin_error = 0, loss_error = 0;
  double attention_missing = 1, attention_missing_error = 0;  // 1 - attention
  double drift = 0;                                           // Invariant::drift
  std::optional<double> at_loss;  // the target, for points where a loss is reached
  Status status = Status::converged;
  std::string reason;  // why not converged; the point is then the last one that was reached
};

struct Trajectory {
  std::vector<Point> at_times, at_losses, at_betas;  // in the order of the request
};

// Adaptive Runge-Kutta of order 8 in ln(1+t). Errors: twice the difference to the same run at twenty times
// the tolerance of its steps.
Trajectory integrate(const Model& model, const Request& request);

// beta(u) from the invariant, t(u) = int du/u' by Chebyshev interpolation of the integrand on adaptive
// panels. Errors: the truncated part of the Chebyshev series and rounding.
Trajectory closed_form(const Model& model, const Request& request);

}  // namespace qksolve::flow
