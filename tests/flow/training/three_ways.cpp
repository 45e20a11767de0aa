// The same training three ways: on tokens, with full matrices, and as the reduced flow.
#include <doctest/doctest.h>

#include <Eigen/SVD>
#include <cmath>

#include "qksolve/flow/training/full_matrix.hpp"
#include "qksolve/flow/training/token_measurement.hpp"
#include "qksolve/flow/training/token_training.hpp"

using namespace qksolve::flow;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr int kClasses = 10, kCommon = 20, kDistinct = 2;  // of every class one token, which comes twice

Model model_of(const Parameterization& parameterization) {
  Model model;
  model.task = {kClasses, 1, kCommon, kDistinct, kCommon, Query::shared};
  model.parameterization = parameterization;
  model.eta_qk = 0.7;
  model.start = {0.05, 0.05};
  return model;
}

// One sequence of each class. Tokens: one a class, then the common ones.
TokenizedExamples sequences() {
  TokenizedExamples x;
  x.first = {0};
  for (int c = 0; c < kClasses; ++c) {
    for (int i = 0; i < kDistinct; ++i) x.tokens.push_back(c);
    for (int i = 0; i < kCommon; ++i) x.tokens.push_back(kClasses + i);
    for (int i = 0; i < kDistinct + kCommon; ++i) x.relevant.push_back(i < kDistinct ? 1 : 0);
    x.labels.push_back(c);
    x.first.push_back(static_cast<std::int64_t>(x.tokens.size()));
  }
  return x;
}

// At `model.start` on the line that the gradient keeps: scores in the ratio 1/(C b) to -1/K, no logits of
// common tokens, balanced factors.
TokenModel start_of(const Model& model) {
  TokenModelOptions options;
  options.parameterization = model.parameterization;
  options.vocabulary = kClasses + kCommon;
  options.classes = kClasses;
  TokenModel tokens(options);
  const double c2 = model.task.qk_constant();
  MatrixXd k(1, options.vocabulary);
  k.leftCols(kClasses).setConstant(model.start.beta / kClasses / c2);
  k.rightCols(kCommon).setConstant(-model.start.beta / kCommon / c2);
  MatrixXd v = MatrixXd::Zero(kClasses, options.vocabulary);
  v.leftCols(kClasses) = model.start.u * (MatrixXd::Identity(kClasses, kClasses) -
                                          MatrixXd::Constant(kClasses, kClasses, 1.0 / kClasses));
  if (model.parameterization.factorized_qk) {
    const double size = std::sqrt(k.norm());
    tokens.weights.keys = k / size;
    tokens.weights.query = MatrixXd::Constant(1, 1, size);
  } else {
    tokens.weights.keys = k;
  }
  if (model.parameterization.factorized_ov) {
    const Eigen::JacobiSVD<MatrixXd> svd(v, Eigen::ComputeThinU | Eigen::ComputeThinV);
    const MatrixXd root = svd.singularValues().cwiseSqrt().asDiagonal();
    tokens.weights.output = svd.matrixU() * root;
    tokens.weights.values = root * svd.matrixV().transpose();
  } else {
    tokens.weights.values = v;
  }
  return tokens;
}

}  // namespace

TEST_CASE("training on tokens is training of full matrices, and both follow the reduced flow") {
  const TokenizedExamples examples = sequences();
  constexpr std::int64_t steps = 200;
  for (const Parameterization& parameterization : kParameterizations) {
    CAPTURE(parameterization.name());
    const Model model = model_of(parameterization);
    Training training;
    training.dimension = 40;
    training.steps = steps;
    FullModel full(model, training);
    const Measurement matrices = train(full, {steps}).measurements.back();

    TokenModel tokens = start_of(model);
    TokenTraining token_training;
    token_training.eta_ov = model.eta_ov;
    token_training.eta_qk = model.eta_qk;
    token_training.batch = kClasses;
    token_training.epochs = steps;
    const TokenRun run = train(tokens, examples, token_training);
    const TokenMeasurement m = measure(tokens, examples, {});

    Request request;
    request.times = {static_cast<double>(steps)};
    const Point reduced = closed_form(model, request).at_times.front();

    INFO(parameterization.name(), ": u ", m.u.mean, " ", matrices.u, " ", reduced.u, ", beta ", m.beta.mean,
         " ", matrices.beta, " ", reduced.beta, ", p ", m.mass.mean, " ", matrices.attention, " ",
         reduced.attention, ", loss ", run.train_loss, " ", matrices.loss, " ", reduced.loss);
    CHECK(std::abs(m.u.mean - matrices.u) < 1e-11 * matrices.u);
    CHECK(std::abs(m.beta.mean - matrices.beta) < 1e-11);
    CHECK(std::abs(m.mass.mean - matrices.attention) < 1e-11);
    CHECK(std::abs(m.p.mean - matrices.attention) < 1e-11);
    CHECK(std::abs(run.train_loss - matrices.loss) < 1e-11);
    CHECK(std::abs(m.u.mean - reduced.u) <= matrices.u_error);
    CHECK(std::abs(m.beta.mean - reduced.beta) <= matrices.beta_error);
    CHECK(std::abs(m.mass.mean - reduced.attention) <= matrices.attention_error);
  }
}
