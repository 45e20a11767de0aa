#include "qksolve/numerics/fixed_point.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace qksolve::numerics;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

VectorXd ones(const VectorXd& x) { return VectorXd::Ones(x.size()); }

// x = cos-like map with eigenvalues -slope and .9 at its fixed point (1, 2), and a mild nonlinearity.
Map steep_map(double slope) {
  return [slope](const VectorXd& x, VectorXd& fx) {
    const double a = x[0] - 1, b = x[1] - 2;
    fx = VectorXd(2);
    fx << 1 - slope * a + 0.1 * a * a, 2 + 0.9 * b + 0.2 * a * b;
    return true;
  };
}

VectorXd start() { return (VectorXd(2) << 1.3, 2.6).finished(); }

}  // namespace

TEST_CASE("plain damped iteration converges below its stability limit and says so when it does not") {
  FixedPointOptions options;
  options.method = FixedPointMethod::damped;
  options.tolerance = 1e-10;
  options.max_evaluations = 10000;
  // The damped eigenvalue is d - (1 - d) slope: stable for d > (slope - 1)/(slope + 1) = .69 at slope 5.5.
  for (const double damping : {0.75, 0.8, 0.95}) {
    options.damping = damping;
    const auto result = solve_fixed_point(steep_map(5.5), ones, start(), options);
    CHECK(result.status == FixedPointStatus::converged);
    CHECK(result.x[0] == doctest::Approx(1).epsilon(1e-9));
    CHECK(result.x[1] == doctest::Approx(2).epsilon(1e-8));
  }
  options.damping = 0.5;
  const auto result = solve_fixed_point(steep_map(5.5), ones, start(), options);
  CHECK(result.status != FixedPointStatus::converged);
  CHECK(result.residual > options.tolerance);
}

TEST_CASE("the accelerated method needs few evaluations, also beyond the stability limit of its damping") {
  FixedPointOptions options;
  options.tolerance = 1e-12;
  for (const double slope : {0.5, 5.5, 30.0}) {
    const auto result = solve_fixed_point(steep_map(slope), ones, start(), options);
    CAPTURE(slope);
    CHECK(result.status == FixedPointStatus::converged);
    CHECK(result.evaluations < 45);
    CHECK(result.x[0] == doctest::Approx(1).epsilon(1e-11));
  }
}

TEST_CASE("one evaluation is reported as the iteration limit, with the start and its residual") {
  FixedPointOptions options;
  options.max_evaluations = 1;
  const auto result = solve_fixed_point(steep_map(2), ones, start(), options);
  CHECK(result.status == FixedPointStatus::iteration_limit);
  CHECK(result.x == start());
  CHECK(result.evaluations == 1);
}

TEST_CASE("steps that would leave the domain are shortened; a start outside it is refused") {
  const Map map = [](const VectorXd& x, VectorXd& fx) {
    if (x[0] <= 0) return false;
    fx = VectorXd::Constant(1, 0.3 / x[0]);  // fixed point sqrt(.3), eigenvalue -1
    return true;
  };
  FixedPointOptions options;
  options.tolerance = 1e-12;
  const auto result = solve_fixed_point(map, ones, VectorXd::Constant(1, 20.0), options);
  CHECK(result.status == FixedPointStatus::converged);
  CHECK(result.x[0] == doctest::Approx(std::sqrt(0.3)).epsilon(1e-11));
  CHECK(solve_fixed_point(map, ones, VectorXd::Constant(1, -1.0), options).status ==
        FixedPointStatus::non_finite);
}

TEST_CASE("a map without fixed point never converges, even where its residual is small") {
  // x -> x + .01 + (x - 1)^2: residual at least .01, smallest at 1 (a fixed point that has just vanished).
  const Map map = [](const VectorXd& x, VectorXd& fx) {
    fx = x + VectorXd::Constant(1, 0.01 + (x[0] - 1) * (x[0] - 1));
    return std::abs(x[0]) < 100;
  };
  FixedPointOptions options;
  options.tolerance = 1e-3;
  options.max_evaluations = 300;
  const auto result = solve_fixed_point(map, ones, VectorXd::Zero(1), options);
  CHECK(result.status != FixedPointStatus::converged);
  CHECK(result.residual >= 0.01);
}

TEST_CASE("the finite-difference Jacobian is that of the map, also at the edge of its domain") {
  const MatrixXd j = jacobian(steep_map(5.5), start(), VectorXd::Ones(2), 1e-4);
  CHECK(j(0, 0) == doctest::Approx(-5.5 + 0.2 * 0.3).epsilon(1e-8));
  CHECK(j(0, 1) == doctest::Approx(0).epsilon(1e-8));
  CHECK(j(1, 0) == doctest::Approx(0.2 * 0.6).epsilon(1e-8));
  CHECK(j(1, 1) == doctest::Approx(0.9 + 0.2 * 0.3).epsilon(1e-8));
  const Map half_line = [](const VectorXd& x, VectorXd& fx) {
    fx = 3 * x;
    return x[0] >= 1;
  };
  CHECK(jacobian(half_line, VectorXd::Ones(1), VectorXd::Ones(1), 1e-3)(0, 0) ==
        doctest::Approx(3).epsilon(1e-9));
}

TEST_CASE("an interruption ends a run as such") {
  FixedPointOptions options;
  int asked = 0, evaluated = 0;
  options.interrupted = [&] { return asked++ == 5; };
  const Map map = [&](const VectorXd& x, VectorXd& fx) {
    ++evaluated;
    return steep_map(5.5)(x, fx);
  };
  CHECK(solve_fixed_point(map, ones, start(), options).status == FixedPointStatus::interrupted);
  CHECK(evaluated == 5);
  options.interrupted = [] { return true; };
  CHECK(solve_fixed_point(steep_map(5.5), ones, start(), options).status == FixedPointStatus::interrupted);
}

TEST_CASE(
    "a noisy map ends at its noise where that is accepted; where a fixed point has ceased to exist, not") {
  const Map noisy = [](const VectorXd& x, VectorXd& fx) {
    steep_map(0.5)(x, fx);
    fx.array() += 1e-3 * (1e6 * x).array().sin();
    return true;
  };
  FixedPointOptions options;
  options.max_evaluations = 400;
  CHECK(solve_fixed_point(noisy, ones, start(), options).status == FixedPointStatus::iteration_limit);
  options.accept_noise = 1e-2;
  const auto result = solve_fixed_point(noisy, ones, start(), options);
  CHECK(result.status == FixedPointStatus::noise);
  CHECK(result.residual <= 1e-2);
  CHECK(result.evaluations < 100);
  const Map gone = [](const VectorXd& x, VectorXd& fx) {
    fx = x + VectorXd::Constant(1, 1e-3) + x.cwiseAbs2();
    return x[0] < 10;
  };
  CHECK(solve_fixed_point(gone, ones, VectorXd::Constant(1, -0.2), options).status !=
        FixedPointStatus::noise);
}
