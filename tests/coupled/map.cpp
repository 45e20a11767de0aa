#include "qksolve/coupled/map.hpp"

#include <doctest/doctest.h>

#include <Eigen/LU>
#include <cmath>
#include <stdexcept>

#include "random_maps.hpp"

using namespace qksolve::coupled;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// The integrators as the note writes them, step by step.
State step_by_step(const Map& map, State z) {
  const double h = map.step_size;
  auto f = [&](const MatrixXd& x) { return force(map.coupling, x); };
  for (int i = 0; i < map.steps; ++i) switch (map.integrator) {
      case Integrator::standard:
        break;
      case Integrator::euler:
        z = {z.q + h * z.k, z.k + h * f(z.q)};
        break;
      case Integrator::semi_implicit:
        z.k += h * f(z.q);
        z.q += h * z.k;
        break;
      case Integrator::leapfrog:
        z.k += h / 2 * f(z.q);
        z.q += h * z.k;
        z.k += h / 2 * f(z.q);
        break;
      case Integrator::uncoupled:
        z = {z.q + h * f(z.q), z.k + h * f(z.k)};
    }
  return z;
}

double distance(const State& a, const State& b) { return std::hypot((a.q - b.q).norm(), (a.k - b.k).norm()); }

}  // namespace

TEST_CASE("stages are the integrators' steps") {
  for (const Integrator integrator : kIntegrators)
    for (const CouplingKind kind : kCouplingKinds)
      for (int steps = 0; steps <= 7; ++steps) {
        const Map map = random_map(integrator, kind, 5, steps, 0.3, static_cast<std::uint64_t>(steps));
        const State start = random_state(6, 5, 2);
        CAPTURE(integrator_name(integrator));
        CHECK(distance(evolve(map, start), step_by_step(map, start)) < 1e-12);
      }
  Map map;
  map.steps = 3;
  CHECK(stages(map).size() == 7);  // half kicks are joined
}

TEST_CASE("at step size zero, and after no steps, nothing moves") {
  const State start = random_state(6, 5, 2);
  for (const Integrator integrator : kIntegrators) {
    Map map = random_map(integrator, CouplingKind::mlp, 5, 3, 0.0, 1);
    CHECK(distance(evolve(map, start), start) == 0);
    map.step_size = 0.5;
    map.steps = 0;
    CHECK(distance(evolve(map, start), start) == 0);
  }
}

TEST_CASE("Jacobians are those of finite differences") {
  constexpr double step = 1e-5;
  for (const Integrator integrator : kIntegrators)
    for (const CouplingKind kind : kCouplingKinds)
      for (const int d : {1, 4}) {
        CAPTURE(integrator_name(integrator));
        CAPTURE(coupling_name(kind));
        const Map map = random_map(integrator, kind, d, 3, 0.4, 5);
        const State start = random_state(3, d, 9);
        const std::vector<MatrixXd> exact = jacobians(map, start);
        for (int j = 0; j < 2 * d; ++j) {
          State above = start, below = start;
          auto column = [&](State& z) { return j < d ? z.q.col(j).array() : z.k.col(j - d).array(); };
          column(above) += step;
          column(below) -= step;
          const State up = evolve(map, above), down = evolve(map, below);
          for (int t = 0; t < 3; ++t) {
            VectorXd slope(2 * d);
            slope << (up.q - down.q).row(t).transpose(), (up.k - down.k).row(t).transpose();
            // Truncation step^2/6 times a third derivative of order 1..10, rounding u/step.
            CHECK((slope / (2 * step) - exact[static_cast<std::size_t>(t)].col(j)).norm() < 1e-8);
          }
        }
      }
}

TEST_CASE("tokens do not influence each other, however many there are") {
  const Map map = random_map(Integrator::leapfrog, CouplingKind::mlp, 6, 2, 0.3, 3);
  const State start = random_state(40, 6, 4);
  const VectorXd all = log_abs_determinants(map, start, 2);
  const std::vector<MatrixXd> of_all = jacobians(map, start);
  const State last{start.q.bottomRows(1), start.k.bottomRows(1)};
  CHECK((jacobians(map, last)[0] - of_all[39]).norm() < 1e-13);
  CHECK((evolve(map, last).q - evolve(map, start).q.bottomRows(1)).norm() < 1e-13);
  CHECK(log_abs_determinants(map, start, 1) == all);
  CHECK(log_abs_determinants(map, start, 3) == all);

  const Map euler = random_map(Integrator::euler, CouplingKind::mlp, 6, 2, 0.3, 3);
  const VectorXd logs = log_abs_determinants(euler, start, 2);
  for (int t = 0; t < 40; ++t)
    CHECK(logs[t] == doctest::Approx(std::log(
                         std::abs(jacobians(euler, start)[static_cast<std::size_t>(t)].determinant()))));
}

TEST_CASE("shapes that do not fit are refused") {
  const Map map = random_map(Integrator::euler, CouplingKind::mlp, 4, 1, 0.3, 1);
  State start = random_state(3, 4, 1);
  start.k = MatrixXd::Zero(2, 4);
  CHECK_THROWS_AS(evolve(map, start), std::invalid_argument);
  CHECK_THROWS_AS(evolve(map, random_state(3, 5, 1)), std::invalid_argument);
  CHECK_THROWS_AS(jacobians(map, random_state(3, 5, 1)), std::invalid_argument);
}
