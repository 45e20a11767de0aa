// Solver for fixed points x = F(x) of a map of a few variables that is expensive, defined only on a domain,
// and unstable under plain iteration.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

namespace qksolve::numerics {

// Writes F(x) to fx and returns true, or returns false where F cannot be evaluated (x outside the domain).
// fx has the size of x.
using Map = std::function<bool(const Eigen::VectorXd& x, Eigen::VectorXd& fx)>;

// Positive scales, one per component: the residual of component i is |F(x)_i - x_i| / scale_i.
using Scale = std::function<Eigen::VectorXd(const Eigen::VectorXd& x)>;

enum class FixedPointMethod {
  accelerated,  // damped steps, then Anderson mixing, then Newton with a finite-difference Jacobian
  damped        // x <- damping x + (1 - damping) F(x), nothing else
};

struct FixedPointOptions {
  FixedPointMethod method = FixedPointMethod::accelerated;
  // Weight of the old value, in [0, 1). The accelerated method raises it while steps make the residual grow.
  double damping = 0.8;
  double tolerance = 1e-8;      // on the undamped residual at the returned point, > 0
  int max_evaluations = 500;    // of F, >= 1, Jacobians included
  double start_anderson = 0.3;  // residual below which Anderson mixing takes over from damped steps
  double start_newton = 0.1;    // residual below which Newton is tried
  int anderson_depth = 5;       // number of earlier points kept
  // Given an accepted point and F there, says that no fixed point that is wanted lies ahead; the run then
  // ends there.
  std::function<bool(const Eigen::VectorXd& x, const Eigen::VectorXd& fx)> abandon;
  // Residual below which the map's own noise may end the run: where Newton steps with new Jacobians no longer
  // reduce a residual, though they are no longer than it suggests. 0: never.
  double accept_noise = 0;
  std::function<bool()> interrupted;  // asked at every evaluation; true ends the run
};

enum class FixedPointStatus { converged, noise, iteration_limit, non_finite, abandoned, interrupted };

struct FixedPointStep {
  int evaluations;
  double residual;
  Eigen::VectorXd x;
};

struct FixedPointResult {
  FixedPointStatus status = FixedPointStatus::iteration_limit;
  Eigen::VectorXd x;           // the evaluated point with the smallest residual (damped: the last one)
  double residual = HUGE_VAL;  // the undamped residual at x, max over components
  int evaluations = 0;
  Eigen::MatrixXd jacobian;  // dF/dx near x where a Newton step was made, else empty
};

// `observe`, if given, is called at every accepted point. A point at which the map cannot be evaluated is
// approached by halving the step towards the last good point; if the start itself cannot be evaluated the
// status is non_finite. An abandoned run returns the point at which it was abandoned.
FixedPointResult solve_fixed_point(const Map& map, const Scale& scale, const Eigen::VectorXd& start,
                                   const FixedPointOptions& options,
                                   const std::function<void(const FixedPointStep&)>& observe = {});

// dF/dx by central differences of relative size `step` in units of the scale; one-sided where one side is
// outside the domain. Needs 2 n evaluations. Empty if F cannot be evaluated around x.
Eigen::MatrixXd jacobian(const Map& map, const Eigen::VectorXd& x, const Eigen::VectorXd& scale,
                         double step = 1e-3);

// The largest scaled component of F(x) - x.
double residual_norm(const Eigen::VectorXd& residual, const Eigen::VectorXd& scale);

}  // namespace qksolve::numerics
