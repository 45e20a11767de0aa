// The model on tokens: gradient, pairing of starts, training to a loss, and measurements on weights set by
// hand.
#include "qksolve/flow/training/token_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "qksolve/flow/training/token_measurement.hpp"
#include "qksolve/flow/training/token_training.hpp"
#include "qksolve/numerics/random_integers.hpp"

using namespace qksolve::flow;
using Eigen::Index;
using Eigen::MatrixXd;

namespace {

// Random sequences with repetitions, whose first token is relevant and decides the class up to some noise.
TokenizedExamples random_examples(std::int32_t vocabulary, std::int32_t classes, int count) {
  TokenizedExamples x;
  x.first = {0};
  qksolve::numerics::RandomIntegers random({7, 0, 0, 1}, 0);
  for (int i = 0; i < count; ++i) {
    const auto length = 1 + random.below(9);
    const std::size_t begin = x.tokens.size();
    for (std::uint64_t l = 0; l < length; ++l) {
      x.tokens.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(vocabulary))));
      x.relevant.push_back(l == 0 ? 1 : 0);
    }
    x.labels.push_back(random.below(8) == 0 ? 0 : x.tokens[begin] % classes);
    x.first.push_back(static_cast<std::int64_t>(x.tokens.size()));
  }
  return x;
}

TokenModelOptions options_of(const Parameterization& parameterization, std::uint64_t seed = 3) {
  TokenModelOptions options;
  options.parameterization = parameterization;
  options.vocabulary = 11;
  options.classes = 3;
  options.inner_dimension = 5;
  options.positions = 4;
  options.seed = seed;
  return options;
}

std::vector<std::pair<MatrixXd*, MatrixXd*>> parts(TokenWeights& a, TokenWeights& b) {
  return {{&a.keys, &b.keys},
          {&a.query, &b.query},
          {&a.bias, &b.bias},
          {&a.values, &b.values},
          {&a.output, &b.output}};
}

TokenWeights mean_gradient(const TokenModel& model, const TokenizedExamples& examples) {
  TokenWeights gradient = model.zero_gradient();
  for (std::int64_t i = 0; i < examples.size(); ++i)
    model.add_gradient(examples, i, 1.0 / static_cast<double>(examples.size()), gradient);
  return gradient;
}

// k(t) and v(t) as collapsed matrices.
MatrixXd keys_of(const TokenWeights& w) {
  return w.query.size() > 0 ? MatrixXd(w.query.transpose() * w.keys) : w.keys;
}
MatrixXd values_of(const TokenWeights& w) {
  return w.output.size() > 0 ? MatrixXd(w.output * w.values) : w.values;
}

double largest_difference(const MatrixXd& a, const MatrixXd& b) { return (a - b).cwiseAbs().maxCoeff(); }

}  // namespace

TEST_CASE("the gradient is that of differences of the loss") {
  const TokenizedExamples examples = random_examples(11, 3, 20);
  for (const Parameterization& parameterization : kParameterizations) {
    CAPTURE(parameterization.name());
    TokenModel model(options_of(parameterization));
    model.weights.bias.setRandom();
    TokenWeights gradient = mean_gradient(model, examples);
    constexpr double h = 1e-5;
    for (const auto& [weight, slope] : parts(model.weights, gradient)) {
      double largest = 0;
      for (Index i = 0; i < weight->size(); ++i) {
        const double before = weight->data()[i];
        weight->data()[i] = before + h;
        const double above = model.loss(examples);
        weight->data()[i] = before - h;
        const double below = model.loss(examples);
        weight->data()[i] = before;
        largest = std::max(largest, std::abs((above - below) / (2 * h) - slope->data()[i]));
      }
      CHECK(largest < 1e-9);  // h^2 times third derivatives, rounding 1e-16/h
    }
  }
}

TEST_CASE("equal seeds give all parameterizations the same function and the same order") {
  const TokenizedExamples examples = random_examples(11, 3, 40);
  const TokenModel factorized(options_of({true, true}));
  for (const Parameterization& parameterization : kParameterizations) {
    const TokenModel model(options_of(parameterization)), other(options_of(parameterization, 4));
    CHECK(largest_difference(keys_of(model.weights), keys_of(factorized.weights)) < 1e-15);
    CHECK(largest_difference(values_of(model.weights), values_of(factorized.weights)) < 1e-15);
    CHECK(largest_difference(keys_of(other.weights), keys_of(factorized.weights)) > 1e-3);
  }
  // At vanishing rates the loss of the batches, which are summed in order, tells the order: it is that of the
  // seed.
  TokenModel a(options_of({false, false})), b(options_of({false, false}));
  TokenTraining training;
  training.epochs = 2;
  training.batch = 3;
  train(a, examples, training);
  train(b, examples, training);
  CHECK(a.weights.values == b.weights.values);
  TokenModel c(options_of({false, false}));
  training.seed = 1;
  train(c, examples, training);
  CHECK(a.weights.values != c.weights.values);
}

// Delta (K'q) = -eta (|q|^2 g + K'K g) and Delta (O W) = -eta (O O' G + G W'W) to first order, g and G the
// collapsed gradients.
TEST_CASE("from equal starts the first steps of collapsed and factorized circuits differ by a known factor") {
  const TokenizedExamples examples = random_examples(11, 3, 30);
  const TokenModel collapsed(options_of({false, false}));
  TokenModel factorized(options_of({true, true}));
  const TokenWeights g = mean_gradient(collapsed, examples);
  const TokenWeights before = factorized.weights;
  TokenTraining training;
  training.eta_ov = training.eta_qk = 1e-7;
  training.batch = 1000;
  training.epochs = 1;
  train(factorized, examples, training);
  const TokenWeights& after = factorized.weights;
  const MatrixXd keys = (keys_of(after) - keys_of(before)) / -1e-7,
                 values = (values_of(after) - values_of(before)) / -1e-7;
  const MatrixXd expected_keys =
                     before.query.squaredNorm() * g.keys + g.keys * before.keys.transpose() * before.keys,
                 expected_values = before.output * before.output.transpose() * g.values +
                                   g.values * before.values.transpose() * before.values;
  CHECK(before.query.norm() == doctest::Approx(0.3).epsilon(1e-14));
  CHECK(largest_difference(keys, expected_keys) < 1e-6 * expected_keys.cwiseAbs().maxCoeff());
  CHECK(largest_difference(values, expected_values) < 1e-6 * expected_values.cwiseAbs().maxCoeff());
}

TEST_CASE("attention that starts uniform and is not trained stays so") {
  const TokenizedExamples examples = random_examples(11, 3, 50);
  for (const Parameterization& parameterization : kParameterizations) {
    TokenModelOptions options = options_of(parameterization);
    options.uniform = true;
    TokenModel model(options);
    TokenTraining training;
    training.eta_qk = 0;
    train(model, examples, training);
    const TokenMeasurement m = measure(model, examples, {});
    CHECK(std::abs(m.mass.mean - m.uniform_mass.mean) < 1e-15);
    CHECK(m.beta.mean == 0);
    CHECK(std::abs(m.p.mean - m.uniform_mass.mean) < 1e-15);
    CHECK(m.accuracy.mean > 0.5);
  }
}

TEST_CASE("training ends at the first step with the loss that is wanted") {
  const TokenizedExamples examples = random_examples(11, 3, 100);
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adamw}) {
    TokenTraining training;
    training.optimizer = optimizer;
    training.batch = 10;
    training.eta_ov = training.eta_qk = optimizer == Optimizer::sgd ? 0.3 : 0.003;
    training.epochs = 400;
    training.loss_target = 0.8;
    TokenModel model(options_of({true, true}));
    const TokenRun run = train(model, examples, training);
    REQUIRE(run.status == Status::converged);
    CHECK(run.train_loss <= 0.8);
    CHECK(run.train_loss > 0.79);
    CHECK(run.train_loss == model.loss(examples));
    // A run to a slightly larger loss ends one step before, and above the target.
    std::int64_t before = run.steps;
    for (double above = 1e-4; above < 0.02 && before == run.steps; above += 1e-4) {
      TokenModel other(options_of({true, true}));
      training.loss_target = 0.8 + above;
      const TokenRun shorter = train(other, examples, training);
      before = shorter.steps;
      if (before < run.steps) CHECK(shorter.train_loss > 0.8);
    }
    CHECK(before == run.steps - 1);
    // The same number of steps without a target is the same training.
    TokenModel fixed(options_of({true, true}));
    training.loss_target.reset();
    training.epochs = run.steps / 10 + 1;
    const TokenRun whole = train(fixed, examples, training);
    CHECK(whole.steps >= run.steps);
    CHECK(whole.steps == 10 * training.epochs);
    if (whole.steps == run.steps) CHECK(fixed.weights.values == model.weights.values);

    TokenModel untrained(options_of({true, true}));
    training.loss_target = 10;
    CHECK(train(untrained, examples, training).steps == 0);
    training.loss_target = 1e-3;
    training.epochs = 2;
    CHECK(train(untrained, examples, training).status == Status::step_limit);
  }
}

TEST_CASE("a loss that is not finite ends the run with the values of the epoch before") {
  const TokenizedExamples examples = random_examples(11, 3, 100);
  TokenModel model(options_of({true, true})), start(options_of({true, true}));
  TokenTraining training;
  training.eta_ov = training.eta_qk = 1e200;
  const TokenRun run = train(model, examples, training);
  CHECK(run.status == Status::non_finite);
  CHECK(run.steps == 0);
  CHECK(model.weights.values == start.weights.values);
  CHECK(run.train_loss == start.loss(examples));
}

TEST_CASE("training refuses what is out of range") {
  const TokenizedExamples examples = random_examples(11, 3, 10);
  TokenModelOptions options = options_of({true, true});
  for (const auto& change : std::vector<void (*)(TokenModelOptions&)>{
           [](TokenModelOptions& o) { o.classes = 1; }, [](TokenModelOptions& o) { o.inner_dimension = 0; },
           [](TokenModelOptions& o) { o.positions = -1; }, [](TokenModelOptions& o) { o.init_scale = 0; }}) {
    TokenModelOptions changed = options;
    change(changed);
    CHECK_THROWS_AS(TokenModel{changed}, std::invalid_argument);
  }
  TokenModel model(options);
  for (const auto& change : std::vector<void (*)(TokenTraining&)>{
           [](TokenTraining& t) { t.batch = 0; }, [](TokenTraining& t) { t.eta_qk = -1; },
           [](TokenTraining& t) { t.loss_target = 0; },
           [](TokenTraining& t) { t.optimizer = Optimizer::rk4; }}) {
    TokenTraining changed;
    change(changed);
    CHECK_THROWS_AS(train(model, examples, changed), std::invalid_argument);
  }
}

// Two tokens: token 0 has the score ln 3 and logits (2, 0), token 1 the score 0 and logits (0, 1).
TEST_CASE("measurements on weights set by hand") {
  TokenModelOptions options;
  options.vocabulary = 2;
  TokenModel model(options);
  model.weights.keys << std::log(3.0), 0;
  model.weights.values << 2, 0, 0, 1;
  TokenizedExamples x;
  x.tokens = {0, 1, 1, 0};
  x.first = {0, 2, 3, 4};
  x.relevant = {1, 0, 0.5, 0};  // the last example is not annotated
  x.labels = {0, 0, 0};
  const TokenMeasurement m = measure(model, x, {0.6, 0.9, 0.5});
  const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  // Attention of the first example: 3/4, 1/4, logits 1.5, .25.
  const double first = sigmoid(1.25), second = sigmoid(-1), third = sigmoid(2);
  CHECK(m.mass.mean == doctest::Approx((0.75 + 0.5) / 2).epsilon(1e-14));
  CHECK(*m.mass.error == doctest::Approx(0.125).epsilon(1e-14));
  CHECK(m.uniform_mass.mean == doctest::Approx(0.5).epsilon(1e-14));
  CHECK(m.top_token_relevant.mean == 1);
  CHECK(m.attention_correct.mean == 0.5);
  CHECK(m.attention_and_model_correct.mean == 0);  // P = .78
  CHECK(m.attention_correct_twice_uniform.mean == 0);
  CHECK(m.loss.mean == doctest::Approx(-(std::log(first) + std::log(second) + std::log(third)) / 3));
  CHECK(m.accuracy.mean == doctest::Approx(2 / 3.0));
  CHECK(m.entropy.mean == doctest::Approx(-(0.75 * std::log(0.75) + 0.25 * std::log(0.25)) / 3));
  CHECK(m.true_probability.mean == doctest::Approx((first + second + third) / 3));
  // Of the first example the top half is token 0; the others have one token, which cannot be left out.
  CHECK(m.sufficiency.mean == doctest::Approx((first - sigmoid(2)) / 3));
  CHECK(m.comprehensiveness.mean ==
        doctest::Approx(((first - sigmoid(-1)) + (sigmoid(1) - 0.5) + (third - 0.5)) / 3));
  CHECK(m.u.mean == doctest::Approx((2 - 1) / 2.0));
  CHECK(m.beta.mean == doctest::Approx(std::log(3.0) / 2));  // ln 3 and, in the second example, 0
  CHECK(m.p.mean == doctest::Approx(1 / (1 + 1 / std::sqrt(3.0))));
  CHECK(m.heatmap.sum() == doctest::Approx(100));
  CHECK(m.heatmap(3, 3) == 50);
  CHECK(m.heatmap(2, 1) == 50);
}

TEST_CASE("the last distance stands for all beyond") {
  TokenModelOptions options;
  options.vocabulary = 1;
  options.positions = 2;
  options.start_at_zero = true;
  TokenModel model(options);
  model.weights.bias << 5, 7;
  TokenizedExamples x;
  x.tokens = {0, 0, 0};
  x.first = {0, 3};
  x.relevant = {1, 0, 0};
  x.labels = {0};
  CHECK(model.scores(x, 0) == Eigen::Vector3d(7, 7, 5));
}
