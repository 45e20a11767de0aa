#include <doctest/doctest.h>

#include <cmath>

#include "qksolve/numerics/statistics.hpp"
#include "qksolve/phase/finite_size/measurement.hpp"
#include "qksolve/phase/finite_size/message_passing_path.hpp"
#include "qksolve/phase/two_token/jump_quadrature.hpp"

using namespace qksolve;
using namespace qksolve::phase;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double kAlpha = 2, kVariance = 0.25;

// From the reported convention.
Overlaps overlaps(double q, double theta, double m, double V) {
  auto matrix = [](double value) { return MatrixXd::Constant(1, 1, value); };
  return {matrix(q / kVariance), matrix(theta / kVariance), matrix(m), matrix(V / kVariance)};
}

// |prediction - expected| in standard errors of the prediction, for q, theta, m and V.
VectorXd deviation(const PathPrediction& at, const Overlaps& expected) {
  auto in_errors = [](const MatrixXd& value, const MatrixXd& error, const MatrixXd& wanted) {
    const double difference = std::abs(value(0, 0) - wanted(0, 0));
    return difference < 1e-14 ? 0.0 : difference / error(0, 0);
  };
  return Eigen::Vector4d(in_errors(at.overlaps.q, at.error.q, expected.q),
                         in_errors(at.overlaps.theta, at.error.theta, expected.theta),
                         in_errors(at.overlaps.m, at.error.m, expected.m),
                         in_errors(at.overlaps.V, at.error.V, expected.V));
}

}  // namespace

TEST_CASE("without damping the path prediction is the iterated map of the state evolution") {
  // Close to the fixed points: the undamped map runs away from them.
  for (Overlaps at : {overlaps(0.112, 0.155, 0, 12.8), overlaps(0.05, 0, 0.26, 11.2)}) {
    const auto path = predict_message_passing(Model{}, kAlpha, at, 2, 0.0);
    REQUIRE(path.size() == 3);
    for (const PathPrediction& prediction : path) {
      CAPTURE(at.q);
      CHECK(deviation(prediction, at).maxCoeff() < 6);  // 8 replicates: Student's t with 7 degrees
      at = *update(Model{}, kAlpha, at, jump_moments(Model{}, at, jump_rule(6), 1));
    }
  }
}

TEST_CASE("with damping the first step mixes the start in, and the last one ends at the fixed point") {
  const double a = 0.25;
  const Overlaps start = overlaps(0.08, 0.1, 0, 14);
  const auto path = predict_message_passing(Model{}, kAlpha, start, 80, 1 - a);
  const Moments moments = jump_moments(Model{}, start, jump_rule(4), 1);
  const double V = update(Model{}, kAlpha, start, moments)->V(0, 0);
  Overlaps first = start;
  first.V = (1 - a) * start.V + MatrixXd::Constant(1, 1, a * V);
  first.theta = (1 - a) * start.theta + a * V * kAlpha * moments.teacher_response;
  const double noise = start.q(0, 0) - std::pow(start.theta(0, 0), 2);
  first.q(0, 0) = std::pow(first.theta(0, 0), 2) + std::pow(1 - a, 2) * noise +
                  a * a * V * V * kAlpha * moments.force_outer(0, 0);
  CHECK(deviation(path[1], first).maxCoeff() < 6);
  // Six instances at d = 2000 of an implementation independent of this one, with their standard errors.
  CHECK(std::abs(kVariance * path[1].overlaps.q(0, 0) - 0.0828) < 3 * 0.0004);
  CHECK(std::abs(kVariance * path[5].overlaps.q(0, 0) - 0.1052) < 3 * 0.0009);
  CHECK(std::abs(kVariance * path[5].overlaps.theta(0, 0) - 0.1492) < 3 * 0.0010);
  CHECK(std::abs(kVariance * path[30].overlaps.q(0, 0) - 0.1150) < 3 * 0.0013);
  // tests/reference/state_evolution.csv
  CHECK(deviation(path[80], overlaps(0.114817, 0.158158, 0, 12.6686)).maxCoeff() < 6);
}

TEST_CASE("the path prediction on the positional branch ends at its fixed point") {
  const auto path = predict_message_passing(Model{}, kAlpha, overlaps(0.05, 0, 0.26, 11), 60, 0.75);
  CHECK(deviation(path[60], overlaps(0.051070, 0, 0.258232, 11.3685)).maxCoeff() < 6);
  CHECK(path[60].overlaps.theta(0, 0) == 0);
}

TEST_CASE("message passing that does not settle says how many samples keep switching") {
  // A positional start, where the proximal map jumps: the overlaps stay in a narrow band, some samples
  // switch.
  const FiniteSize<double> instance(Model{}, {0, 1, 1000, 2000});
  MessagePassingOptions options;
  options.iterations = 400;
  const MessagePassingResult result = message_passing(instance, instance.directions(), options);
  CHECK(result.minimum.status == numerics::MinimizerStatus::iteration_limit);
  CHECK(result.switching > 0);
  CHECK(result.switching < 100);
  const MessagePassingResult semantic = message_passing(instance, instance.teacher(), options);
  CHECK(semantic.minimum.status == numerics::MinimizerStatus::converged);
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("message passing at d = 2000 follows the path prediction") {
  const int instances = 8, steps = 40;
  const std::vector<int> compared{1, 2, 3, 5, 8, 12, 20, steps};
  const Overlaps start = overlaps(kVariance, kVariance, 0, 12.5);
  const auto path = predict_message_passing(Model{}, kAlpha, start, steps, 0.75);
  std::vector<MatrixXd> found(compared.size(), MatrixXd(instances, 3));
  for (int i = 0; i < instances; ++i) {
    const FiniteSize<double> instance(Model{}, {0, i, 2000, 4000});
    MessagePassingOptions options;
    options.iterations = steps;
    message_passing(instance, instance.teacher(), options, [&](const MessagePassingStep& step) {
      const Overlaps at = measure_overlaps(step.Q, instance.teacher(), instance.directions());
      for (std::size_t k = 0; k < compared.size(); ++k)
        if (step.iteration == compared[k]) found[k].row(i) << at.q(0, 0), at.theta(0, 0), step.variance;
      return true;
    });
  }
  for (std::size_t k = 0; k < compared.size(); ++k) {
    const PathPrediction& at = path[static_cast<std::size_t>(compared[k])];
    const double predicted[] = {at.overlaps.q(0, 0), at.overlaps.theta(0, 0), at.overlaps.V(0, 0)};
    const double error[] = {at.error.q(0, 0), at.error.theta(0, 0), at.error.V(0, 0)};
    for (int j = 0; j < 3; ++j) {
      CAPTURE(compared[k]);
      CAPTURE(j);
      const numerics::MeanEstimate mean = numerics::mean_estimate(found[k].col(j));
      CAPTURE(mean.mean);
      CAPTURE(*mean.error);
      CAPTURE(predicted[j]);
      CHECK(std::abs(mean.mean - predicted[j]) < 5 * std::hypot(*mean.error, error[j]));
    }
  }
}

TEST_SUITE_END();
