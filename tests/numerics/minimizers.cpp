#include "qksolve/numerics/minimizers.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace qksolve::numerics;
using Eigen::VectorXd;

namespace {

// Minimum 0 at (1, 1, ...), a curved valley.
double rosenbrock(const VectorXd& x, VectorXd& g) {
  g.setZero();
  double value = 0;
  for (Eigen::Index i = 0; i + 1 < x.size(); i += 2) {
    const double a = 1 - x[i], b = x[i + 1] - x[i] * x[i];
    value += a * a + 100 * b * b;
    g[i] = -2 * a - 400 * x[i] * b;
    g[i + 1] = 200 * b;
  }
  return value;
}

double bowl(const VectorXd& x, VectorXd& g) {
  g = x;
  return 0.5 * x.squaredNorm();
}

}  // namespace

TEST_CASE("L-BFGS finds a minimum in a curved valley and stops at the tolerance") {
  MinimizerOptions options;
  options.gradient_tolerance = 1e-10;
  const Minimum minimum = lbfgs(rosenbrock, VectorXd::Constant(10, -1.2), options);
  CHECK(minimum.status == MinimizerStatus::converged);
  CHECK(minimum.gradient_norm <= 1e-10);
  CHECK((minimum.x.array() - 1).abs().maxCoeff() < 1e-9);
  CHECK(minimum.iterations < 100);
}

TEST_CASE("L-BFGS converges where differences of values drown in rounding") {
  // Adding 1e6 leaves a resolution of 1e-10 in the value, that of a gradient of 1e-5.
  const Objective raised = [](const VectorXd& x, VectorXd& g) { return 1e6 + rosenbrock(x, g); };
  const Minimum minimum = lbfgs(raised, VectorXd::Constant(4, -1.2), {});
  CHECK(minimum.status == MinimizerStatus::converged);
}

TEST_CASE("gradient descent on a quadratic shrinks x by 1 - learning rate per step") {
  const VectorXd start = VectorXd::LinSpaced(5, 1, 2);
  const Minimum minimum = gradient_descent(bowl, start, {1e-3, 10, 0.25});
  CHECK((minimum.x - std::pow(0.75, 10) * start).norm() < 1e-14);
  CHECK(minimum.iterations == 10);
  CHECK(minimum.status == MinimizerStatus::iteration_limit);
  CHECK(gradient_descent(bowl, start, {1e-3, 100, 0.25}).status == MinimizerStatus::converged);
}

TEST_CASE("Adam moves by the learning rate at first and converges") {
  const VectorXd start = VectorXd::Constant(3, 0.5);
  const Minimum first = adam(bowl, start, {1e-3, 1, 0.01});
  CHECK((first.x.array() - 0.49).abs().maxCoeff() < 1e-9);
  CHECK(adam(bowl, start, {1e-3, 2500, 0.01}).status == MinimizerStatus::converged);
}

TEST_CASE("a learning rate that blows up ends with the last good step") {
  const Minimum minimum = gradient_descent(bowl, VectorXd::Ones(2), {1e-3, 2000, 5.0});
  CHECK(minimum.status == MinimizerStatus::non_finite);
  CHECK(minimum.x.allFinite());
  CHECK(std::isfinite(minimum.value));
  CHECK(minimum.iterations < 2000);
}

TEST_CASE("the observer sees every step and can end the run") {
  int last = -1;
  const Minimum minimum =
      gradient_descent(bowl, VectorXd::Ones(2), {1e-9, 100, 0.1}, [&](const MinimizerStep& step) {
        CHECK(step.iteration == last + 1);
        last = step.iteration;
        return step.iteration < 7;
      });
  CHECK(minimum.iterations == 7);
  CHECK(minimum.status == MinimizerStatus::iteration_limit);
}
