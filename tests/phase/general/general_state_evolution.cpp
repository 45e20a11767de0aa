// Expectations of the general model: against the two-token rule, under symmetries, as derivatives of the
// expected envelope, and for a model other than attention whose fixed point is known.
#include <doctest/doctest.h>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <vector>

#include "qksolve/phase/equations/branches.hpp"
#include "qksolve/phase/general/random_quadrature.hpp"
#include "qksolve/phase/two_token/jump_quadrature.hpp"

using namespace qksolve::phase;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using qksolve::numerics::Pack;

namespace {

Model model_of(int tokens, int rank, int teacher_rank = 1, int directions = 1) {
  Model model;
  model.tokens = tokens;
  model.rank = rank;
  model.teacher_rank = teacher_rank;
  model.sigma = VectorXd::LinSpaced(tokens, 0.45, 0.7);
  model.teacher_matrix = MatrixXd::Constant(tokens, tokens, 0.1);
  for (int l = 0; l < tokens; ++l) model.teacher_matrix(l, (l + 1) % tokens) += 1 - 0.1 * tokens;
  model.positional_matrix = MatrixXd::Zero(tokens, directions);
  for (int a = 0; a < directions; ++a)
    for (int l = 0; l < tokens; ++l) model.positional_matrix(l, a) = std::cos((a + 1) * (l + 0.3));
  return model;
}

Overlaps overlaps_of(const Model& model) {
  Overlaps o;
  const int r = model.rank;
  o.q = 0.3 * MatrixXd::Identity(r, r) + 0.05 * MatrixXd::Ones(r, r);
  o.V = 40 * MatrixXd::Identity(r, r) + 5 * MatrixXd::Ones(r, r);
  o.theta = MatrixXd::Constant(r, model.teacher_rank, 0.05);
  o.theta.diagonal().array() += 0.3;
  o.m = MatrixXd::Constant(r, model.directions(), 0.1);
  o.m(0, 0) = 0.2;
  return o;
}

VectorXd as_vector(const Moments& m) {
  std::vector<double> all{m.loss, m.test_loss};
  for (const MatrixXd* part :
       {&m.force_outer, &m.response, &m.classical_response, &m.teacher_response, &m.positional_force})
    all.insert(all.end(), part->data(), part->data() + part->size());
  return Eigen::Map<VectorXd>(all.data(), static_cast<Eigen::Index>(all.size()));
}

struct Estimated {
  VectorXd mean, error;
};

Estimated over_replicates(const Quadrature& quadrature, const Overlaps& o, int level) {
  std::vector<VectorXd> values;
  for (int k = 0; k < quadrature.replicates; ++k)
    values.push_back(as_vector(quadrature.evaluate(o, level, k)));
  const double n = quadrature.replicates;
  Estimated e{VectorXd::Zero(values[0].size()), VectorXd::Zero(values[0].size())};
  for (const VectorXd& v : values) e.mean += v / n;
  for (const VectorXd& v : values) e.error += (v - e.mean).cwiseAbs2() / (n * (n - 1));
  e.error = e.error.cwiseSqrt();
  return e;
}

Quadrature quadrature_of(const Model& model, std::uint64_t seed = 1, int threads = 2) {
  return random_quadrature(model, attention_loss(model), seed, threads);
}

// Five standard errors, so that among some hundred comparisons none is off by chance.
void check_agree(const Estimated& a, const Estimated& b) {
  for (Eigen::Index i = 0; i < a.mean.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(a.mean[i] - b.mean[i]) <=
          5 * std::hypot(a.error[i], b.error[i]) + 1e-12 * std::abs(a.mean[i]) + 1e-15);
  }
}

}  // namespace

TEST_CASE("general expectations: at two tokens and rank one they are those of the two-token rule") {
  for (const double omega : {0.0, 0.3}) {
    Model model;
    model.omega = omega;
    for (const auto& [theta, m] : {std::pair(0.4, 0.0), {0.0, 0.25}, {0.3, 0.2}}) {
      Overlaps o;
      o.q = MatrixXd::Constant(1, 1, 0.4);
      o.theta = MatrixXd::Constant(1, 1, theta);
      o.m = MatrixXd::Constant(1, 1, m);
      o.V = MatrixXd::Constant(1, 1, 60.0);
      const Estimated random = over_replicates(quadrature_of(model), o, 1);
      VectorXd rule = as_vector(jump_quadrature(model, 2).evaluate(o, 4, 0));
      // The rule leaves the test error to a quadrature of its own.
      double unused = 0;
      rule[1] = jump_quadrature(model, 2).generalization_error(o, 1e-8, unused);
      check_agree(random, {rule, VectorXd::Zero(rule.size())});
    }
  }
}

TEST_CASE("general expectations: a column that is switched off leaves those of the lower rank") {
  const Model one = model_of(3, 1);
  Model two = one;
  two.rank = 2;
  Overlaps low = overlaps_of(one), high;
  high.q = high.V = 1e-9 * MatrixXd::Identity(2, 2);
  high.theta = MatrixXd::Zero(2, 1);
  high.m = MatrixXd::Zero(2, 1);
  high.q(0, 0) = low.q(0, 0);
  high.V(0, 0) = low.V(0, 0);
  high.theta(0, 0) = low.theta(0, 0);
  high.m(0, 0) = low.m(0, 0);
  const Estimated a = over_replicates(quadrature_of(one), low, 1),
                  b = over_replicates(quadrature_of(two), high, 1);
  // loss, test loss, then the first entry of every matrix: they hold 4, 4, 4, 2 and 2 entries at rank two.
  const std::vector<Eigen::Index> kept{0, 1, 2, 6, 10, 14, 16};
  check_agree(a, {b.mean(kept), b.error(kept)});
}

TEST_CASE("general expectations: tokens may be renumbered and columns rotated") {
  const Model model = model_of(3, 2, 2, 2);
  const Overlaps o = overlaps_of(model);
  const Estimated before = over_replicates(quadrature_of(model), o, 1);

  const std::vector<int> order{2, 0, 1};
  Model renumbered = model;
  renumbered.sigma = model.sigma(order);
  renumbered.positional_matrix = model.positional_matrix(order, Eigen::all);
  renumbered.teacher_matrix = model.teacher_matrix(order, order);
  check_agree(before, over_replicates(quadrature_of(renumbered, 2), o, 1));

  const Eigen::Matrix2d r = Eigen::Rotation2Dd(0.7).toRotationMatrix();
  const Overlaps rotated{r.transpose() * o.q * r, r.transpose() * o.theta, r.transpose() * o.m,
                         r.transpose() * o.V * r};
  const Quadrature quadrature = quadrature_of(model, 3);
  const auto invariants = [&](const Overlaps& at) {
    std::vector<VectorXd> values;
    Estimated e{VectorXd::Zero(5), VectorXd::Zero(5)};
    const double n = quadrature.replicates;
    for (int k = 0; k < quadrature.replicates; ++k) {
      const Moments x = quadrature.evaluate(at, 1, k);
      const Overlaps next = *update(model, 2.0, at, x);
      values.push_back(VectorXd::Zero(5));
      values.back() << x.loss, next.q.trace(), next.V.determinant(), next.theta.norm(), next.m.norm();
      e.mean += values.back() / n;
    }
    for (const VectorXd& v : values) e.error += (v - e.mean).cwiseAbs2() / (n * (n - 1));
    e.error = e.error.cwiseSqrt();
    return e;
  };
  check_agree(invariants(o), invariants(rotated));
}

TEST_CASE("general expectations: forces are derivatives of the expected envelope over the same nodes") {
  const Model model = model_of(3, 2, 1, 2);
  const Overlaps o = overlaps_of(model);
  const Quadrature quadrature = quadrature_of(model);
  const Moments at = quadrature.evaluate(o, 0, 0);
  const auto envelope = [&](const Overlaps& x) { return expected_envelope(x, quadrature.evaluate(x, 0, 0)); };
  const auto slope = [&](MatrixXd Overlaps::*of, int i, int j, double h) {
    Overlaps up = o, down = o;
    (up.*of)(i, j) += h;
    (down.*of)(i, j) -= h;
    if (of == &Overlaps::V && i != j) {
      (up.*of)(j, i) += h;
      (down.*of)(j, i) -= h;
    }
    return (envelope(up) - envelope(down)) / (2 * h);
  };
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      CHECK(slope(&Overlaps::m, i, j, 1e-5) ==
            doctest::Approx(-at.positional_force(i, j)).epsilon(1e-5).scale(1e-3));
      const double factor = i == j ? 0.5 : 1.0;
      CHECK(slope(&Overlaps::V, i, j, 1e-2) ==
            doctest::Approx(-factor * at.force_outer(i, j)).epsilon(1e-4).scale(1e-6));
    }
}

TEST_CASE("general expectations: the bytes do not depend on the number of threads") {
  const Model model = model_of(3, 2, 1, 1);
  const Overlaps o = overlaps_of(model);
  std::vector<VectorXd> found;
  for (const int threads : {1, 2, 3}) {
    const Quadrature quadrature = quadrature_of(model, 1, threads);
    quadrature.evaluate(o, 0, 2);
    found.push_back(as_vector(quadrature.evaluate(o, 0, 2)));
  }
  CHECK(found[0] == found[1]);
  CHECK(found[0] == found[2]);
}

TEST_CASE("another model: linear regression, written as the README says, has its known fixed point") {
  // Student and teacher are read token by token, loss = 1/2 sum_l (z_l - h_l)^2: ridge regression on alpha L
  // samples per dimension, whose fixed point is closed.
  Model model;
  model.tokens = 3;
  model.sigma = VectorXd::Constant(3, 0.8);
  model.lambda = 0.2;
  model.positional_matrix = VectorXd::LinSpaced(3, 1, -1);
  SequenceLoss loss;
  loss.label_size = 3;
  loss.label = [](const Pack* h, Pack* label) { std::copy_n(h, 3, label); };
  loss.value = [](const Pack* z, const Pack* label, Pack* gradient, Pack* hessian) {
    Pack value{};
    for (int l = 0; l < 3; ++l) {
      const Pack gap = z[l] - label[l];
      value += 0.5 * gap * gap;
      if (gradient) gradient[l] = gap;
      for (int k = 0; hessian && k < 3; ++k) hessian[3 * l + k] = Pack{} + (k == l ? 1.0 : 0.0);
    }
    return value;
  };
  loss.baseline = [](const double* mean, const double* mean_square) {
    double value = 0;
    for (int l = 0; l < 3; ++l) value += 0.5 * (mean_square[l] - mean[l] * mean[l]);
    return value;
  };
  const double alpha = 0.5, variance = 0.64, samples = 3 * alpha;
  SolveOptions options;
  options.tolerance = 1e-3;
  const BranchSolver solver(model, random_quadrature(model, loss, 4, 2), options);
  const BranchSolution s = solver.solve(alpha, kSemantic);
  REQUIRE(s.status == Status::converged);

  double V = 1;
  for (int k = 0; k < 200; ++k) V = 1 / (model.lambda + samples * variance / (1 + variance * V));
  const double response = samples * variance / (1 + variance * V), theta = V * response;
  const double square = samples * std::pow(variance / (1 + variance * V), 2);
  const double q = V * V * (square * (1 - 2 * theta) + response * response) / (1 - V * V * square);
  const Estimate& e = s.estimate;
  CHECK(std::abs(e.overlaps.V(0, 0) - V) <= 2 * e.overlaps_error.V(0, 0) + 1e-9);
  CHECK(std::abs(e.overlaps.theta(0, 0) - theta) <= 2 * e.overlaps_error.theta(0, 0) + 1e-9);
  CHECK(std::abs(e.overlaps.q(0, 0) - q) <= 2 * e.overlaps_error.q(0, 0) + 1e-9);
  CHECK(std::abs(e.generalization_error - 1.5 * variance * (1 - 2 * theta + q)) <=
        2 * e.generalization_error_error + 1e-9);
  CHECK(std::abs(solver.quadrature().linear_baseline - 1.5 * variance) <=
        2 * solver.quadrature().linear_baseline_error + 1e-9);
}
