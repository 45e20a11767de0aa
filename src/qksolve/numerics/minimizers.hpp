// First-order minimisers of smooth functions of many variables.
#pragma once

#include <Eigen/Core>
#include <functional>

namespace qksolve::numerics {

// Returns f(x) and writes its gradient, of the size of x.
using Objective = std::function<double(const Eigen::VectorXd& x, Eigen::VectorXd& gradient)>;

struct MinimizerStep {
  int iteration;  // steps made so far
  const Eigen::VectorXd& x;
  double value, gradient_norm;
};
// Called at every point; returning false ends the run there.
using Observer = std::function<bool(const MinimizerStep&)>;

struct MinimizerOptions {
  double gradient_tolerance = 1e-8;  // on the Euclidean norm of the gradient, > 0
  int steps = 1000;             // >= 1: the number of steps of gradient descent and Adam, the limit of L-BFGS
  double learning_rate = 0.15;  // > 0; not used by L-BFGS
};

enum class MinimizerStatus {
  converged,        // the gradient is within the tolerance at the point returned
  iteration_limit,  // it is not, and the steps are used up or no step makes progress
  non_finite        // value or gradient overflowed: the last good point is returned
};

struct Minimum {
  Eigen::VectorXd x;
  double value = 0, gradient_norm = 0;
  int iterations = 0;
  MinimizerStatus status = MinimizerStatus::iteration_limit;
};

// x <- x - learning_rate grad f, exactly `steps` times.
Minimum gradient_descent(const Objective& objective, const Eigen::VectorXd& start,
                         const MinimizerOptions& options, const Observer& observe = {});

// Adam (Kingma & Ba 2015) with its standard constants .9, .999, 1e-8, exactly `steps` times.
Minimum adam(const Objective& objective, const Eigen::VectorXd& start, const MinimizerOptions& options,
             const Observer& observe = {});

// Limited-memory BFGS (Nocedal & Wright, algorithm 7.4). Near a minimum, differences of function values drown
// in rounding, so the line search accepts a step by derivatives alone where the value has not risen beyond
// rounding (the approximate Wolfe conditions of Hager & Zhang 2005). Ends at the tolerance, not later.
Minimum lbfgs(const Objective& objective, const Eigen::VectorXd& start, const MinimizerOptions& options,
              const Observer& observe = {});

}  // namespace qksolve::numerics
