#include "qksolve/phase/finite_size/experiment.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "qksolve/numerics/statistics.hpp"

using namespace qksolve;
using namespace qksolve::phase;
using Eigen::VectorXd;
using numerics::MinimizerStatus;

namespace {

ExperimentOptions quick(Optimizer optimizer, int steps, double learning_rate = 0.15) {
  ExperimentOptions options;
  options.optimizer = optimizer;
  options.steps = steps;
  options.learning_rate = learning_rate;
  options.test_samples = 1000;
  return options;
}

}  // namespace

TEST_CASE("gradient descent and Adam end at the minimum that L-BFGS finds") {
  const Draw draw{0, 0, 200, 400};
  const std::vector<Init> inits{Init::semantic, Init::positional};
  const InstanceResult exact = run_instance(Model{}, draw, inits, quick(Optimizer::lbfgs, 1000));
  ExperimentOptions descent = quick(Optimizer::gradient_descent, 5000),
                    moments = quick(Optimizer::adam, 2500, 0.01);
  descent.gradient_tolerance = moments.gradient_tolerance = 1e-2;
  const InstanceResult by_descent = run_instance(Model{}, draw, inits, descent);
  const InstanceResult by_moments = run_instance(Model{}, draw, inits, moments);
  for (std::size_t i = 0; i < inits.size(); ++i) {
    CAPTURE(init_name(inits[i]));
    CHECK(exact.runs[i].status == MinimizerStatus::converged);
    CHECK(exact.runs[i].gradient_norm <= 1e-8);
    for (const InstanceResult* other : {&by_descent, &by_moments}) {
      CHECK(other->runs[i].status == MinimizerStatus::converged);
      // Along the flat directions of the positional minimum the fixed number of steps is not the end of the
      // way.
      const double distance = inits[i] == Init::semantic ? 1e-5 : 1e-2;
      CHECK(other->runs[i].train_loss == doctest::Approx(exact.runs[i].train_loss).epsilon(distance));
    }
  }
  CHECK(exact.runs[0].overlaps.theta(0, 0) > 0.3);
  CHECK(exact.runs[1].overlaps.m(0, 0) > 0.1);
}

TEST_CASE("single precision ends at the same place up to its rounding") {
  const Draw draw{1, 0, 200, 400};
  ExperimentOptions options = quick(Optimizer::lbfgs, 1000);
  const Run exact = run_instance(Model{}, draw, {Init::semantic}, options).runs[0];
  options.single_precision = true;
  const Run rounded = run_instance(Model{}, draw, {Init::semantic}, options).runs[0];
  CHECK(rounded.status == MinimizerStatus::converged);
  CHECK(rounded.train_loss == doctest::Approx(exact.train_loss).epsilon(1e-5));
  CHECK(rounded.overlaps.theta(0, 0) == doctest::Approx(exact.overlaps.theta(0, 0)).epsilon(1e-4));
}

TEST_CASE("message passing ends next to the minimum, closer at larger d") {
  // Its proximal map has G = sigma^2 d I: overlaps differ by fluctuations of order 1/sqrt(d) per sample.
  const Draw draw{1, 0, 600, 1200};
  const Run minimum = run_instance(Model{}, draw, {Init::semantic}, quick(Optimizer::lbfgs, 1000)).runs[0];
  for (const Response response : {Response::classical, Response::total}) {
    ExperimentOptions options = quick(Optimizer::message_passing, 1000);
    options.response = response;
    options.trajectory = true;
    const Run run = run_instance(Model{}, draw, {Init::semantic}, options).runs[0];
    CHECK(run.status == MinimizerStatus::converged);
    CHECK(run.train_loss > minimum.train_loss);
    CHECK(run.train_loss == doctest::Approx(minimum.train_loss).epsilon(1e-3));
    CHECK(run.overlaps.theta(0, 0) == doctest::Approx(minimum.overlaps.theta(0, 0)).epsilon(0.02));
    CHECK(run.trajectory.size() > 20);
    CHECK(run.trajectory.back().overlaps.V(0, 0) > 0);
  }
}

TEST_CASE("a learning rate that blows up is reported with the last good step") {
  const Run run =
      run_instance(Model{}, {1, 0, 30, 60}, {Init::semantic}, quick(Optimizer::gradient_descent, 2000, 1e6))
          .runs[0];
  CHECK(run.status == MinimizerStatus::non_finite);
  CHECK(std::isfinite(run.train_loss));
  CHECK(run.overlaps.q.allFinite());
}

TEST_CASE("any number of tokens and any ranks") {
  Model model;
  model.tokens = 3;
  model.rank = 2;
  model.sigma = VectorXd::Constant(3, 0.5);
  model.teacher_matrix = Eigen::MatrixXd::Constant(3, 3, 1.0 / 3);
  model.positional_matrix = VectorXd::LinSpaced(3, 1, -1);
  const InstanceResult result =
      run_instance(model, {1, 0, 60, 120}, {Init::semantic, Init::positional, Init::random},
                   quick(Optimizer::lbfgs, 2000));
  CHECK(result.controls.size() == 0);
  for (const Run& run : result.runs) {
    CHECK(run.status == MinimizerStatus::converged);
    CHECK(!run.conditional_test_error);
  }
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("control variates shrink the standard error of the training loss") {
  const int count = 64;
  VectorXd semantic(count), positional(count);
  Eigen::MatrixXd controls(count, 4);
  for (int i = 0; i < count; ++i) {
    const InstanceResult result = run_instance(
        Model{}, {0, i, 1000, 2000}, {Init::semantic, Init::positional}, quick(Optimizer::lbfgs, 1000));
    controls.row(i) = result.controls.transpose();
    semantic[i] = result.runs[0].train_loss;
    positional[i] = result.runs[1].train_loss;
  }
  for (const auto& [values, factor] : {std::pair{semantic, 2.0}, std::pair{positional, 4.0}}) {
    const numerics::MeanEstimate raw = numerics::mean_estimate(values);
    const auto controlled = numerics::controlled_mean(values, controls);
    MESSAGE("standard error " << *raw.error << ", with control variates " << *controlled->error);
    CHECK(*raw.error > factor * *controlled->error);
    CHECK(std::abs(raw.mean - controlled->mean) < 4 * *raw.error);
  }
}

TEST_CASE("published averages of gradient descent at omega = .3") {
  std::ifstream file(QKSOLVE_REFERENCE_DIR "/published_finite_size.csv");
  REQUIRE(file);
  const int instances = 16, published_instances = 24;
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line[0] == 'a') continue;
    std::istringstream fields(line);
    std::vector<std::string> words;
    for (std::string word; std::getline(fields, word, ',');) words.push_back(word);
    REQUIRE(words.size() == 12);
    const double alpha = std::stod(words[0]);
    // Four of the 25 alphas, those at and near .5, 1, 1.5 and 2.
    if (std::abs(2 * alpha - std::round(2 * alpha)) > 0.02 || alpha < 0.4) continue;
    CAPTURE(alpha);
    CAPTURE(words[1]);
    ++rows;
    const Init init = words[1] == "semantic" ? Init::semantic : Init::positional;
    Eigen::MatrixXd values(instances, 5);
    for (int i = 0; i < instances; ++i) {
      const Run run = run_instance(Model{}, {0, i, 1000, sample_count(alpha, 1000)}, {init},
                                   quick(Optimizer::lbfgs, 1000))
                          .runs[0];
      values.row(i) << 1000 * run.train_loss, run.test.student, run.test.linear,
          std::abs(run.overlaps.m(0, 0)), std::abs(run.overlaps.theta(0, 0));
    }
    for (int k = 0; k < 5; ++k) {
      const numerics::MeanEstimate ours = numerics::mean_estimate(values.col(k));
      const double published = std::stod(words[2 + 2 * k]);
      const double error = std::stod(words[3 + 2 * k]) / std::sqrt(published_instances);
      CAPTURE(k);
      CAPTURE(ours.mean);
      CAPTURE(published);
      CHECK(std::abs(ours.mean - published) < 4 * std::hypot(error, *ours.error));
    }
  }
  CHECK(rows == 8);
}

TEST_SUITE_END();
