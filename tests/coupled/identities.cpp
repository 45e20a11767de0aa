#include "qksolve/coupled/identities.hpp"

#include <doctest/doctest.h>

#include <Eigen/LU>
#include <cmath>
#include <map>

#include "random_maps.hpp"

using namespace qksolve::coupled;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

std::map<std::string, Identity> by_name(const Map& map, const State& start) {
  std::map<std::string, Identity> found;
  for (const Identity& x : identities(map, start)) found[x.quantity] = x;
  return found;
}

// J' Omega J - Omega.
MatrixXd symplectic_defect(const MatrixXd& J) {
  const Eigen::Index d = J.rows() / 2;
  MatrixXd omega = MatrixXd::Zero(2 * d, 2 * d);
  omega.topRightCorner(d, d).setIdentity();
  omega.bottomLeftCorner(d, d) = -MatrixXd::Identity(d, d);
  return J.transpose() * omega * J - omega;
}

}  // namespace

TEST_CASE("every exact statement holds, over random weights, sizes and steps") {
  for (const Integrator integrator : kIntegrators)
    for (const CouplingKind kind : kCouplingKinds)
      for (int steps = 1; steps <= 7; ++steps)
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
          const int d = 1 + static_cast<int>((static_cast<std::uint64_t>(steps) + 5 * seed) % 12);
          const double h = 0.05 + 0.3 * static_cast<double>(seed);
          const Map map =
              random_map(integrator, kind, d, steps, h, seed + static_cast<std::uint64_t>(7 * steps));
          for (const Identity& x : identities(map, random_state(5, d, seed))) {
            CAPTURE(integrator_name(integrator));
            CAPTURE(coupling_name(kind));
            CAPTURE(steps);
            CAPTURE(d);
            CAPTURE(x.quantity);
            CAPTURE(x.predicted);
            CAPTURE(x.measured);
            CAPTURE(x.difference());
            CAPTURE(x.bound);
            CHECK(x.holds());
            // The bound is far below any effect of order h: it can tell right from wrong. (1 + h Df uncoupled
            // may be nearly singular; eigenvalues may be nearly defective.)
            if (integrator != Integrator::uncoupled && x.quantity != "spectral_radius")
              CHECK(x.bound < 1e-7 * (1 + std::abs(x.predicted)));
          }
        }
}

TEST_CASE("which statements are made") {
  auto names = [](Integrator integrator, CouplingKind kind, int steps) {
    std::string all;
    for (const Identity& x :
         identities(random_map(integrator, kind, 3, steps, 0.3, 1), random_state(2, 3, 1)))
      all += x.quantity + " ";
    return all;
  };
  CHECK(names(Integrator::euler, CouplingKind::mlp, 1) == "log_volume symplectic_defect score ");
  CHECK(names(Integrator::euler, CouplingKind::mlp, 2) == "log_volume symplectic_defect ");
  CHECK(names(Integrator::euler, CouplingKind::linear, 2) == "log_volume symplectic_defect spectral_radius ");
  CHECK(names(Integrator::euler, CouplingKind::harmonic, 2) == "log_volume symplectic_defect energy_ratio ");
  CHECK(names(Integrator::semi_implicit, CouplingKind::harmonic, 2) ==
        "log_volume symplectic_defect harmonic_invariant ");
  CHECK(names(Integrator::leapfrog, CouplingKind::mlp, 1) ==
        "log_volume symplectic_defect reversibility_defect query_gap ");
  CHECK(names(Integrator::leapfrog, CouplingKind::harmonic, 2) ==
        "log_volume symplectic_defect reversibility_defect harmonic_invariant rotation_angle ");
  CHECK(names(Integrator::uncoupled, CouplingKind::gradient, 2) == "log_volume symplectic_defect ");
}

TEST_CASE("predictions of one step are the note's closed forms") {
  const int d = 7;
  const double h = 0.4;
  for (const CouplingKind kind : kCouplingKinds) {
    CAPTURE(coupling_name(kind));
    const State start = random_state(1, d, 3);
    auto make = [&](Integrator integrator) { return random_map(integrator, kind, d, 1, h, 6); };
    const Coupling c = make(Integrator::euler).coupling;
    const MatrixXd D = force_derivative(c, start.q), G = force_derivative(c, start.k),
                   one = MatrixXd::Identity(d, d);
    const auto euler = by_name(make(Integrator::euler), start);
    CHECK(euler.at("log_volume").predicted ==
          doctest::Approx(std::log(std::abs((one - h * h * D).determinant()))));
    MatrixXd defect = MatrixXd::Zero(2 * d, 2 * d);
    defect.topLeftCorner(d, d) = h * (D - D.transpose());
    defect.topRightCorner(d, d) = -h * h * D.transpose();
    defect.bottomLeftCorner(d, d) = h * h * D;
    CHECK(euler.at("symplectic_defect").predicted == doctest::Approx(defect.norm()));
    CHECK((symplectic_defect(jacobians(make(Integrator::euler), start)[0]) - defect).norm() < 1e-12);

    const auto semi = by_name(make(Integrator::semi_implicit), start);
    CHECK(semi.at("log_volume").predicted == 0);
    CHECK(semi.at("symplectic_defect").predicted ==
          doctest::Approx(c.has_potential() ? 0 : h * (D - D.transpose()).norm()));
    const auto uncoupled = by_name(make(Integrator::uncoupled), start);
    CHECK(uncoupled.at("log_volume").predicted ==
          doctest::Approx(std::log(std::abs((one + h * D).determinant() * (one + h * G).determinant()))));
    const auto leapfrog = by_name(make(Integrator::leapfrog), start);
    CHECK(leapfrog.at("query_gap").predicted == doctest::Approx(h * h / 2 * force(c, start.q).norm()));
    // Reversible and volume preserving, but symplectic with a potential only.
    if (!c.has_potential()) CHECK(leapfrog.at("symplectic_defect").measured > 0.01);
  }
}

TEST_CASE("the energy of the harmonic coupling, stable and not") {
  const State start = random_state(3, 4, 1);
  for (const double hw : {0.3, 1.9, 2.0, 2.5}) {
    CAPTURE(hw);
    Map map;
    map.coupling.kind = CouplingKind::harmonic;
    map.coupling.frequency = 1.3;
    map.step_size = hw / 1.3;
    map.steps = 5;
    const auto leapfrog = by_name(map, start);
    CHECK(is_stable(map) == (hw < 2));
    for (const auto& [name, x] : leapfrog) CHECK(x.holds());
    REQUIRE(leapfrog.count("rotation_angle") == (hw < 2 ? 1 : 0));
    if (hw < 2)
      CHECK(leapfrog.at("rotation_angle").predicted ==
            doctest::Approx(std::remainder(10 * std::asin(hw / 2), 2 * std::acos(-1.0))));
    map.integrator = Integrator::euler;
    CHECK(by_name(map, start).at("energy_ratio").predicted == doctest::Approx(std::pow(1 + hw * hw, 5)));
    CHECK(!is_stable(map));
  }
}

TEST_CASE("a violated statement is seen, and anything not finite is one") {
  // A kick with the wrong sign in one place makes an Euler step; its volume is not that of leapfrog.
  const State start = random_state(2, 5, 1);
  const auto euler = by_name(random_map(Integrator::euler, CouplingKind::mlp, 5, 1, 0.3, 1), start),
             leapfrog = by_name(random_map(Integrator::leapfrog, CouplingKind::mlp, 5, 1, 0.3, 1), start);
  Identity mixed = leapfrog.at("log_volume");
  mixed.measured = euler.at("log_volume").measured;
  CHECK(!mixed.holds());
  // As is arithmetic in single precision.
  mixed.measured = mixed.predicted + 6e-8;
  CHECK(!mixed.holds());
  CHECK(worse(mixed, leapfrog.at("log_volume")));
  mixed.measured = std::nan("");
  CHECK(!mixed.holds());
  CHECK(worse(mixed, euler.at("log_volume")));

  Map map = random_map(Integrator::euler, CouplingKind::linear, 4, 2000, 1.0, 3);
  for (const Identity& x : identities(map, random_state(1, 4, 1)))
    if (x.quantity == "symplectic_defect") CHECK(!x.holds());
}

TEST_CASE("with a direct network leapfrog is not symplectic however small the step") {
  // At fixed n h the defect tends, at second order, to that of the flow itself, which is not Hamiltonian.
  const State start = random_state(1, 6, 2);
  auto defect = [&](double h, int n) {
    return by_name(random_map(Integrator::leapfrog, CouplingKind::mlp, 6, n, h, 9), start)
        .at("symplectic_defect")
        .measured;
  };
  const double coarse = defect(0.05, 20), fine = defect(0.025, 40), finest = defect(0.0125, 80);
  CHECK(std::log2(std::abs((coarse - fine) / (fine - finest))) == doctest::Approx(2).epsilon(0.05));
  CHECK(finest > 0.1);
}
