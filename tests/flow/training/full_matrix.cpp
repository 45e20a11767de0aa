#include "qksolve/flow/training/full_matrix.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

using namespace qksolve::flow;
using Eigen::MatrixXd;

namespace {

Model small_model(const Parameterization& parameterization, Query query) {
  Model model;
  model.task = query == Query::shared ? Task{5, 2, 6, 3, 7, query} : Task{3, 2, 4, 2, 9, query};
  model.parameterization = parameterization;
  model.imbalance_ov = 0.3;
  model.imbalance_qk = -0.2;
  return model;
}

// Calls f with every model and a training of its matrices in few dimensions.
template <class Function>
void for_each_model(Function f) {
  for (const Query query : {Query::shared, Query::per_class, Query::paper})
    for (const Parameterization& parameterization : kParameterizations) {
      CAPTURE(parameterization.name());
      CAPTURE(static_cast<int>(query));
      Training training;
      training.dimension = 24;
      f(small_model(parameterization, query), training);
    }
}

TrainingRun train(const Model& model, const Training& training,
                  const std::vector<std::int64_t>& record_steps) {
  FullModel full(model, training);
  return train(full, record_steps);
}

double largest_gap(const Model& model, const Training& training, double t) {
  const Measurement m = train(model, training, {training.steps}).measurements.at(0);
  Request request;
  request.times = {t};
  const Point x = closed_form(model, request).at_times[0];
  CHECK(m.t == doctest::Approx(t));
  CHECK(m.off_line_ov < 1e-10);
  CHECK(m.off_line_qk < 1e-10);
  CHECK(m.margin == doctest::Approx(m.u * m.attention).epsilon(1e-10));
  return std::max({std::abs(m.u - x.u), std::abs(m.beta - x.beta), std::abs(m.attention - x.attention)});
}

}  // namespace

TEST_CASE("the gradient of the full-matrix loss agrees with finite differences") {
  std::mt19937_64 random(1);
  for (const Parameterization& parameterization : kParameterizations) {
    CAPTURE(parameterization.name());
    Training training;
    training.dimension = 30;
    training.inner_dimension = 7;
    training.init = Init::random;
    training.init_scale = 0.4;
    training.embedding = Embedding::gaussian;
    FullModel full(small_model(parameterization, Query::shared), training);
    const Weights gradient = full.gradient(full.examples());
    auto check = [&](std::vector<MatrixXd>& weights, const std::vector<MatrixXd>& slopes) {
      REQUIRE(weights.size() == slopes.size());
      for (std::size_t i = 0; i < weights.size(); ++i)
        for (int draw = 0; draw < 3; ++draw) {
          MatrixXd direction = MatrixXd::NullaryExpr(weights[i].rows(), weights[i].cols(), [&] {
            return std::normal_distribution<double>()(random);
          });
          direction.normalize();
          const MatrixXd at = weights[i];
          const double h = 1e-4;
          auto loss_at = [&](double step) {
            weights[i] = at + step * direction;
            return full.loss(full.examples());
          };
          const double difference = (loss_at(h) - loss_at(-h)) / (2 * h);
          weights[i] = at;
          CHECK(std::abs(difference - slopes[i].cwiseProduct(direction).sum()) <
                1e-7 * slopes[i].norm() + 1e-11);
        }
    };
    check(full.weights().qk, gradient.qk);
    check(full.weights().ov, gradient.ov);
  }
}

TEST_CASE("the aligned start is the start of the reduced flow, with its imbalances") {
  for_each_model([](const Model& model, const Training& training) {
    FullModel full(model, training);
    const Measurement m = full.measure();
    CHECK(m.u == doctest::Approx(model.start.u));
    CHECK(m.beta == doctest::Approx(model.start.beta));
    CHECK(m.attention == doctest::Approx(model.attention(model.start.beta)));
    CHECK(m.loss == doctest::Approx(model.loss(model.margin(model.start))));
    if (model.parameterization.factorized_qk) {
      const auto& qk = full.weights().qk;
      const MatrixXd difference = qk[0] * qk[0].transpose() - qk[1] * qk[1].transpose();
      CHECK(difference(0, 0) == doctest::Approx(model.imbalance_qk));
    }
  });
}

TEST_CASE("full matrices follow the reduced flow at the order of the integrator") {
  for_each_model([](const Model& model, Training training) {
    training.optimizer = Optimizer::rk4;
    training.step_size = 1;
    training.steps = 60;
    const double coarse = largest_gap(model, training, 60);
    training.step_size = 0.5;
    training.steps = 120;
    const double fine = largest_gap(model, training, 60);
    CHECK(coarse < 1e-4);
    if (coarse > 1e-10) CHECK(coarse / fine == doctest::Approx(16).epsilon(0.15));
    training.optimizer = Optimizer::gd;
    const double euler = largest_gap(model, training, 60);
    training.step_size = 0.25;
    training.steps = 240;
    CHECK(euler / largest_gap(model, training, 60) == doctest::Approx(2).epsilon(0.1));
  });
}

TEST_CASE("the errors of a run along the line are those of its steps, and its rounding") {
  const std::vector<std::int64_t> record_steps = {0, 3, 60};
  for_each_model([&](const Model& model, Training training) {
    for (const Optimizer optimizer : {Optimizer::gd, Optimizer::rk4}) {
      training.optimizer = optimizer;
      training.step_size = optimizer == Optimizer::gd ? 0.2 : 2;
      training.steps = 60;
      REQUIRE(follows_line(training));
      Training other = training;
      other.dimension = 40;
      other.seed = 5;
      const auto run = train(model, training, record_steps).measurements,
                 again = train(model, other, record_steps).measurements;
      LineRun line(model, optimizer, training.step_size);
      Request request;
      for (const Measurement& m : run) request.times.push_back(m.t);
      const Trajectory flow = closed_form(model, request);
      for (std::size_t i = 0; i < record_steps.size(); ++i) {
        const Measurement& m = run[i];
        const double rounding = 8 * std::numeric_limits<double>::epsilon() * static_cast<double>(m.step + 1);
        const State on_line = line.after(m.step);
        CHECK(std::abs(m.u - on_line.u) <= rounding * m.u);
        CHECK(std::abs(m.beta - on_line.beta) <= rounding * m.beta);
        CHECK(std::abs(m.u - again[i].u) <= rounding * m.u);
        const Point& x = flow.at_times[i];
        auto check = [](double gap, double error, double flow_error) {
          CHECK(gap <= error + flow_error + 1e-12);
          CHECK(error <= 2.2 * gap + flow_error + 1e-12);
        };
        check(std::abs(m.u - x.u), m.u_error, x.u_error);
        check(std::abs(m.beta - x.beta), m.beta_error, x.beta_error);
        check(std::abs(m.attention - x.attention), m.attention_error, x.attention_error);
        check(std::abs(m.margin - x.margin), m.margin_error, x.margin_error);
        check(std::abs(m.loss - x.loss), m.loss_error, x.loss_error);
      }
    }
  });
}

TEST_CASE("a step of descent subtracts the gradient") {
  for_each_model([](const Model& model, Training training) {
    training.init = Init::random;
    FullModel full(model, training);
    const Weights before = full.weights(), gradient = full.gradient(full.examples());
    full.descend(full.examples(), 0.5);
    for (std::size_t i = 0; i < before.qk.size(); ++i)
      CHECK((full.weights().qk[i] - before.qk[i] + 0.5 * model.eta_qk * gradient.qk[i]).norm() < 1e-14);
    for (std::size_t i = 0; i < before.ov.size(); ++i)
      CHECK((full.weights().ov[i] - before.ov[i] + 0.5 * model.eta_ov * gradient.ov[i]).norm() < 1e-14);
  });
}

TEST_CASE("mini-batches scatter around the population gradient") {
  Model model = small_model({}, Query::shared);
  Training training;
  training.dimension = 24;
  training.optimizer = Optimizer::sgd;
  training.batch = 64;
  training.steps = 200;
  training.step_size = 0.1;
  const Measurement m = train(model, training, {200}).measurements.at(0);
  Request request;
  request.times = {20.0};
  const Point x = closed_form(model, request).at_times[0];
  CHECK(m.u == doctest::Approx(x.u).epsilon(0.05));
  CHECK(m.beta == doctest::Approx(x.beta).epsilon(0.2));
  CHECK(m.off_line_ov > 1e-6);
  const Measurement again = train(model, training, {200}).measurements.at(0);
  CHECK(again.u == m.u);
}

TEST_CASE("AdamW's first step moves every entry by the learning rate") {
  Model model = small_model({}, Query::shared);
  model.eta_ov = 1e-3;
  Training training;
  training.dimension = 24;
  training.optimizer = Optimizer::adamw;
  training.steps = 300;
  const TrainingRun run = train(model, training, {0, 1, 300});
  REQUIRE(run.measurements.size() == 3);
  CHECK(run.measurements[1].loss < run.measurements[0].loss);
  CHECK(run.measurements[2].loss < run.measurements[1].loss);
}

TEST_CASE("learning rates that blow up end as non_finite, bad requests are refused") {
  Model model = small_model({true, true}, Query::shared);
  model.eta_ov = model.eta_qk = 1e200;
  Training training;
  training.dimension = 24;
  training.steps = 50;
  const TrainingRun run = train(model, training, {0, 10, 50});
  CHECK(run.status == Status::non_finite);
  CHECK(run.measurements.size() == 1);
  CHECK(std::isfinite(run.measurements.back().u_error));
  training.dimension = static_cast<int>(vocabulary(model.task)) - 1;
  CHECK_THROWS_AS(train(model, training, {0}), std::invalid_argument);
  training.dimension = 24;
  training.inner_dimension = 4;
  CHECK_THROWS_AS(train(model, training, {0}), std::invalid_argument);
  training.inner_dimension = 0;
  training.optimizer = Optimizer::sgd;
  CHECK_THROWS_AS(train(model, training, {0}), std::invalid_argument);
}

TEST_CASE("d = 1000 follows the reduced flow to 1e-4, the step size is what remains" *
          doctest::test_suite("slow")) {
  for (const Parameterization& parameterization : kParameterizations) {
    Model model;
    model.task = {10, 1, 20, 2, 20, Query::shared};
    model.parameterization = parameterization;
    Training training;
    training.optimizer = Optimizer::rk4;
    training.steps = 200;
    const double gap = largest_gap(model, training, 200);
    CHECK(gap < 1e-4);
    if (parameterization.factorized_qk || parameterization.factorized_ov) continue;
    training.step_size = 0.5;
    training.steps = 400;
    CHECK(gap / largest_gap(model, training, 200) == doctest::Approx(16).epsilon(0.05));
  }
}
