#include "qksolve/flow/training/synthetic.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "reference_table.hpp"

using namespace qksolve::flow;
using Eigen::MatrixXd;

namespace {

SyntheticRun trained(const SyntheticTraining& training) {
  SyntheticModel model(training);
  return train(model);
}

MetricSummary held_out(const SyntheticModel& model) {
  std::mt19937_64 random(99);
  return summarize(model.metrics(SyntheticModel::draw(4000, random), 0.05), 0.1, 0.5, 5);
}

}  // namespace

TEST_CASE("a step of the synthetic experiment goes down the gradient by finite differences") {
  std::mt19937_64 random(1);
  for (const Parameterization& parameterization : kParameterizations) {
    CAPTURE(parameterization.name());
    SyntheticTraining training;
    training.parameterization = parameterization;
    training.eta_ov = training.eta_qk = 1;
    SyntheticModel model(training);
    auto normal = [&] { return std::normal_distribution<double>(0, 0.3)(random); };
    for (auto* factors : {&model.qk, &model.ov})
      for (MatrixXd& w : *factors) w = MatrixXd::NullaryExpr(w.rows(), w.cols(), normal);
    const SyntheticModel::Batch batch = SyntheticModel::draw(7, random);
    SyntheticModel after = model;
    CHECK(after.descend(batch) == doctest::Approx(model.loss(batch)).epsilon(1e-12));
    for (auto factors : {&SyntheticModel::qk, &SyntheticModel::ov})
      for (std::size_t i = 0; i < (model.*factors).size(); ++i) {
        const MatrixXd before = (model.*factors)[i], gradient = before - (after.*factors)[i],
                       direction = MatrixXd::NullaryExpr(before.rows(), before.cols(), normal).normalized();
        auto loss_at = [&](double h) {
          (model.*factors)[i] = before + h * direction;
          return model.loss(batch);
        };
        const double difference = (loss_at(1e-4) - loss_at(-1e-4)) / 2e-4;
        (model.*factors)[i] = before;
        CHECK(std::abs(difference - gradient.cwiseProduct(direction).sum()) < 1e-6 * gradient.norm() + 1e-10);
      }
  }
}

TEST_CASE("synthetic sequences have 62 tokens by weight and their query") {
  std::mt19937_64 random(2);
  double distinct = 0, heaviest = 0;
  const int count = 4000;
  int sequences = 0, label = 0;
  for (const auto& counts : SyntheticModel::draw(count, random)) {
    sequences += static_cast<int>(counts.cols());
    CHECK(counts.colwise().sum().minCoeff() == 63);
    CHECK(counts.colwise().sum().maxCoeff() == 63);
    CHECK(counts.row(Synthetic::distinct + 5 + label++).minCoeff() >= 1);
    distinct += counts.topRows(Synthetic::distinct).sum();
    heaviest += counts.row(Synthetic::distinct - 1).sum();
  }
  CHECK(sequences == count);
  const double tokens = 62.0 * count;
  auto within = [&](double found, double share) {  // five standard deviations of a binomial share
    return std::abs(found / tokens - share) < 5 * std::sqrt(share * (1 - share) / tokens);
  };
  CHECK(within(distinct, 5.5 / 15.5));
  CHECK(within(heaviest, 1.0 / 15.5));
}

TEST_CASE("attention starts uniform, or is held at a fraction") {
  SyntheticTraining training;
  MetricSummary summary = held_out(SyntheticModel(training));
  CHECK(std::abs(summary.mean.mass - 62 * 5.5 / 15.5 / 63) < 5 * summary.standard_error.mass);
  CHECK(summary.mean.entropy == doctest::Approx(std::log(63.0)));
  CHECK(summary.mean.true_probability == doctest::Approx(0.25));
  training.frozen_attention = 0.3;
  training.steps = 500;
  SyntheticModel model(training);
  const MatrixXd before = model.qk[0];
  train(model);
  summary = held_out(model);
  CHECK(summary.mean.mass == doctest::Approx(0.3));
  CHECK(model.qk[0] == before);
}

TEST_CASE("synthetic training ends with an honest status") {
  SyntheticTraining training;
  training.steps = 600;
  training.eta_ov = 0.1;
  training.loss_target = 1e-3;
  SyntheticRun run = trained(training);
  CHECK(run.status == Status::iteration_limit);
  CHECK(run.steps == 600);
  training.loss_target = 1.38;  // just below ln 4, where the loss starts
  run = trained(training);
  CHECK(run.status == Status::converged);
  CHECK(run.loss <= 1.38);
  CHECK(run.loss_error > 0);
  CHECK(trained(training).loss == run.loss);

  training.eta_ov = 1e308;
  training.eta_qk = 1e308;
  SyntheticModel model(training);
  run = train(model);
  CHECK(run.status == Status::non_finite);
  CHECK(run.steps == 0);
  CHECK(model.ov[0] == SyntheticModel(training).ov[0]);

  training.batch = 0;
  CHECK_THROWS_AS(trained(training), std::invalid_argument);
  training.batch = 1;
  training.frozen_attention = 1.5;
  CHECK_THROWS_AS(trained(training), std::invalid_argument);
}

// Collapsed: the published losses are themselves averages over random sequences, to 1 %. Factorized: they are
// those of a start near .1 times the identity, not the 1e-6 of the other experiment, from which the loss at a
// fraction of .2 comes out four times as large.
TEST_CASE("the published losses at frozen attention" * doctest::test_suite("slow")) {
  for (const auto& row : qksolve::test::reference_table("published_frozen_attention.csv")) {
    SyntheticTraining training;
    training.steps = 500 * Synthetic::epoch;
    training.frozen_attention = qksolve::test::number(row, "fraction");
    CAPTURE(*training.frozen_attention);
    CHECK(trained(training).loss == doctest::Approx(qksolve::test::number(row, "collapsed")).epsilon(0.015));
    training.parameterization.factorized_ov = true;
    training.init_scale = 0.1;
    CHECK(trained(training).loss == doctest::Approx(qksolve::test::number(row, "factorized")).epsilon(0.15));
  }
}

TEST_CASE("factorized OV leaves attention blunt, faster QK sharpens it" * doctest::test_suite("slow")) {
  auto mass = [](const Parameterization& parameterization, double eta_qk) {
    SyntheticTraining training;
    training.parameterization = parameterization;
    training.eta_qk = eta_qk;
    training.loss_target = 0.01;
    SyntheticModel model(training);
    CHECK(train(model).status == Status::converged);
    return held_out(model).mean.mass;
  };
  const double fafo = mass({true, true}, 0.01), accelerated = mass({true, true}, 0.2);
  CHECK(fafo < 0.4);
  CHECK(accelerated > 0.8);
  CHECK(mass({true, false}, 0.01) > 0.8);
}
