#include "qksolve/phase/finite_size/measurement.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "qksolve/numerics/statistics.hpp"
#include "qksolve/phase/two_token/teacher.hpp"

using namespace qksolve;
using namespace qksolve::phase;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

MatrixXd student(const Draw& draw, const MatrixXd& teacher, const MatrixXd& directions) {
  MatrixXd Q(draw.dimension, teacher.cols());
  numerics::fill_normals({99, 0, 0, 0}, 0, Q.data(), static_cast<std::size_t>(Q.size()));
  Q = 0.4 * Q + 0.5 * teacher;
  Q.col(0) += 0.3 * std::sqrt(static_cast<double>(draw.dimension)) * directions.col(0);
  return Q;
}

}  // namespace

TEST_CASE("test errors through projections are those of whole samples") {
  for (const int tokens : {2, 3}) {
    CAPTURE(tokens);
    Model model;
    model.tokens = tokens;
    model.rank = model.teacher_rank = tokens - 1;
    model.sigma = VectorXd::LinSpaced(tokens, 0.5, 0.8);
    model.teacher_matrix = MatrixXd::Constant(tokens, tokens, 1.0 / tokens);
    model.positional_matrix = VectorXd::LinSpaced(tokens, 1, -1);
    const Draw draw{1, 0, 12, 20000};
    const FiniteSize<double> whole(model, draw);
    const MatrixXd Q = student(draw, whole.teacher(), whole.directions());
    const MatrixXd linear = MatrixXd::Constant(tokens, tokens, 1.0 / tokens);
    const TestErrors projected =
        measure_test_errors(model, draw, Q, whole.teacher(), whole.directions(), linear, 20000);
    // The risk of this instance without the penalty, per sample: its samples are as fresh as any to this Q.
    const double plain = (whole.risk(Q, nullptr) - 0.5 * model.lambda * Q.squaredNorm()) / draw.samples;
    // Whole samples also vary in length: their error is at most twice that of the projected ones at d = 12.
    CHECK(std::abs(plain - projected.student) < 5 * std::hypot(1, 2) * projected.student_error);
    double linear_error = 0;
    for (int i = 0; i < draw.samples; ++i) {
      const MatrixXd M = linear - whole.attention(i);
      linear_error += (M * whole.gram(i)).cwiseProduct(M).sum() / (2.0 * draw.dimension * draw.samples);
    }
    CHECK(projected.linear == doctest::Approx(linear_error).epsilon(0.05));
  }
}

TEST_CASE("the limit's form of the test error agrees with quadrature from the measured overlaps") {
  const Draw draw{5, 0, 40, 2};
  const FiniteSize<double> instance(Model{}, draw);
  const MatrixXd Q = student(draw, instance.teacher(), instance.directions());
  const TestErrors test = measure_test_errors(Model{}, draw, Q, instance.teacher(), instance.directions(),
                                              MatrixXd::Constant(2, 2, 0.5), 200000);
  double error = 0;
  const auto exact =
      conditional_test_error(Model{}, measure_overlaps(Q, instance.teacher(), instance.directions()),
                             instance.teacher().squaredNorm() / 40, 1e-8, error);
  // The quadrature takes the positional direction to be orthogonal to the teacher; at small d it is made so
  // here.
  REQUIRE(exact);
  CHECK(std::abs(*exact - test.limit_form) < 5 * test.limit_form_error);
  CHECK(error < 1e-8 * *exact);
}

TEST_CASE("students that span fewer directions than they could are measured too") {
  const Draw draw{5, 0, 2, 3};
  const FiniteSize<double> instance(Model{}, draw);
  const MatrixXd W = MatrixXd::Constant(2, 2, 0.5);
  for (const MatrixXd& Q :
       {instance.teacher(), MatrixXd(MatrixXd::Zero(2, 1)), MatrixXd(instance.directions())})
    CHECK(std::isfinite(
        measure_test_errors(Model{}, draw, Q, instance.teacher(), instance.directions(), W, 100).student));
}

TEST_CASE("the linear baseline is the least-squares solution") {
  const FiniteSize<double> instance(Model{}, {2, 0, 10, 50});
  const MatrixXd W = fit_linear_baseline(instance);
  auto loss = [&](const MatrixXd& map) {
    double sum = 0;
    for (int i = 0; i < 50; ++i) {
      const MatrixXd M = map - instance.attention(i);
      sum += (M * instance.gram(i)).cwiseProduct(M).sum();
    }
    return sum;
  };
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (const double step : {-1e-3, 1e-3}) {
        MatrixXd moved = W;
        moved(i, j) += step;
        CHECK(loss(moved) > loss(W));
      }
}

TEST_CASE("control variates have mean zero") {
  const int count = 2000;
  MatrixXd controls(count, 4);
  for (int i = 0; i < count; ++i)
    controls.row(i) = control_variates(FiniteSize<double>(Model{}, {8, i, 5, 10})).transpose();
  for (int k = 0; k < 4; ++k) {
    CAPTURE(k);
    const numerics::MeanEstimate estimate = numerics::mean_estimate(controls.col(k));
    CHECK(std::abs(estimate.mean) < 5 * *estimate.error);
  }
}
