#include "qksolve/coupled/coupling.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "random_maps.hpp"

using namespace qksolve::coupled;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Central differences: off by 1e-10 of truncation and as much of rounding.
constexpr double kStep = 1e-5, kTolerance = 1e-8;

Coupling random_coupling(CouplingKind kind, int dimension, std::uint64_t seed) {
  return random_map(Integrator::euler, kind, dimension, 1, 0.1, seed).coupling;
}

}  // namespace

TEST_CASE("the derivative of the force is that of finite differences, its divergence the trace") {
  for (const CouplingKind kind : kCouplingKinds)
    for (const int d : {1, 2, 5, 9}) {
      CAPTURE(coupling_name(kind));
      CAPTURE(d);
      const Coupling c = random_coupling(kind, d, static_cast<std::uint64_t>(d));
      const MatrixXd x = random_state(3, d, 7).q, D = force_derivative(c, x);
      REQUIRE(D.cols() == 3 * d);
      const VectorXd divergence = force_divergence(c, x);
      for (int t = 0; t < 3; ++t) {
        for (int j = 0; j < d; ++j) {
          MatrixXd above = x, below = x;
          above(t, j) += kStep;
          below(t, j) -= kStep;
          const MatrixXd slope = (force(c, above) - force(c, below)) / (2 * kStep);
          CHECK((slope.row(t).transpose() - D.col(t * d + j)).norm() < kTolerance);
        }
        CHECK(divergence[t] == doctest::Approx(D.middleCols(t * d, d).trace()));
      }
    }
}

TEST_CASE("the force of a potential is its negative gradient") {
  for (const CouplingKind kind : {CouplingKind::gradient, CouplingKind::harmonic}) {
    const int d = 6;
    const Coupling c = random_coupling(kind, d, 3);
    REQUIRE(c.has_potential());
    const MatrixXd x = random_state(4, d, 1).q, f = force(c, x), D = force_derivative(c, x);
    for (int j = 0; j < d; ++j) {
      MatrixXd above = x, below = x;
      above.col(j).array() += kStep;
      below.col(j).array() -= kStep;
      const VectorXd slope = (potential(c, above) - potential(c, below)) / (2 * kStep);
      CHECK((slope + f.col(j)).norm() < kTolerance);
    }
    for (int t = 0; t < 4; ++t)
      CHECK((D.middleCols(t * d, d) - D.middleCols(t * d, d).transpose()).norm() <= symmetry_rounding(c));
  }
  CHECK_THROWS_AS(potential(random_coupling(CouplingKind::mlp, 3, 1), MatrixXd::Zero(1, 3)),
                  std::invalid_argument);
}

TEST_CASE("large arguments neither overflow nor lose the network's linear growth") {
  Coupling c;
  c.W1 = c.W2 = MatrixXd::Identity(1, 1);
  c.v = VectorXd::Ones(1);
  for (const double x : {-1e4, -800.0, 800.0, 1e4}) {
    const MatrixXd at = MatrixXd::Constant(1, 1, x);
    c.kind = CouplingKind::mlp;
    CHECK(force(c, at)(0, 0) == (x > 0 ? x : 0));
    CHECK(force_derivative(c, at)(0, 0) == (x > 0 ? 1 : 0));
    c.kind = CouplingKind::gradient;
    CHECK(force(c, at)(0, 0) == (x > 0 ? -1 : 0));
    CHECK(force_derivative(c, at)(0, 0) == 0);
  }
}

TEST_CASE("rounding bounds hold against the same arithmetic in long double") {
  const int d = 24;
  const Coupling c = random_coupling(CouplingKind::mlp, d, 2);
  const MatrixXd x = random_state(20, d, 5).q, f = force(c, x);
  const VectorXd bound = force_rounding(c, x);
  using Long = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const Long inner = x.cast<long double>() * c.W1.cast<long double>().transpose();
  const Long activated = inner.unaryExpr([](long double y) { return y / (1 + std::exp(-y)); });
  const Long exact = activated * c.W2.cast<long double>().transpose();
  for (int t = 0; t < 20; ++t) {
    const double off = static_cast<double>((f.row(t).cast<long double>() - exact.row(t)).norm());
    CHECK(off <= bound[t]);
    CHECK(off > 1e-6 * bound[t]);  // and are not beyond all measure
  }
}

TEST_CASE("drawn weights have their variances and depend on seed and instance") {
  CouplingDraw draw;
  draw.dimension = 48;
  draw.hidden = 96;
  draw.scale = 2;
  const Coupling c = draw_coupling(draw);
  // 4608 squares: the mean is known to sqrt(2/4608) = 2.1 %, checked at 5 sigma.
  CHECK(c.W1.squaredNorm() / static_cast<double>(c.W1.size()) == doctest::Approx(4.0 / 48).epsilon(0.104));
  CHECK(c.W2.squaredNorm() / static_cast<double>(c.W2.size()) == doctest::Approx(4.0 / 96).epsilon(0.104));
  draw.instance = 1;
  CHECK(draw_coupling(draw).W1 != c.W1);
  draw.instance = 0;
  CHECK(draw_coupling(draw).W1 == c.W1);
  draw.seed = 1;
  CHECK(draw_coupling(draw).W1 != c.W1);
  draw.hidden = 0;
  CHECK_THROWS_AS(draw_coupling(draw), std::invalid_argument);
}

TEST_CASE("shapes that do not fit are refused") {
  Coupling c = random_coupling(CouplingKind::mlp, 4, 1);
  CHECK_THROWS_AS(c.validate(5), std::invalid_argument);
  c.W2 = MatrixXd::Zero(4, 1 + c.W1.rows());
  CHECK_THROWS_AS(c.validate(4), std::invalid_argument);
  Coupling linear;
  linear.kind = CouplingKind::linear;
  linear.A = MatrixXd::Zero(3, 4);
  CHECK_THROWS_AS(linear.validate(4), std::invalid_argument);
}
