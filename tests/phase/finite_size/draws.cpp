#include "qksolve/phase/finite_size/draws.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

using namespace qksolve;
using namespace qksolve::phase;
using Eigen::MatrixXd;

namespace {

Model small_model(int tokens, int rank) {
  Model model;
  model.tokens = tokens;
  model.rank = rank;
  model.teacher_rank = rank;
  model.sigma = Eigen::VectorXd::LinSpaced(tokens, 0.5, 0.8);
  model.teacher_matrix = MatrixXd::Constant(tokens, tokens, 0.3 / (tokens - 1));
  model.teacher_matrix.diagonal().setConstant(0.7);
  model.positional_matrix = MatrixXd(tokens, 2);
  for (int l = 0; l < tokens; ++l) model.positional_matrix.row(l) << 1.0 - l, 0.3 * l + 0.1;
  return model;
}

MatrixXd normals(int rows, int columns, double scale, std::uint64_t purpose) {
  MatrixXd matrix(rows, columns);
  numerics::fill_normals({99, 0, 0, purpose}, 0, matrix.data(), static_cast<std::size_t>(matrix.size()));
  return scale * matrix;
}

// The risk as it is written down: explicit samples, matrices and softmax loops, no inner products kept.
double plain_risk(const FiniteSize<double>& instance, const MatrixXd& Q) {
  const Model& model = instance.model();
  const int d = static_cast<int>(instance.draw().dimension), L = model.tokens;
  auto softmax = [L](const MatrixXd& scores) {
    MatrixXd S(L, L);
    for (int l = 0; l < L; ++l) {
      double sum = 0;
      for (int m = 0; m < L; ++m) sum += std::exp(scores(l, m));
      for (int m = 0; m < L; ++m) S(l, m) = std::exp(scores(l, m)) / sum;
    }
    return S;
  };
  const MatrixXd p = model.positional_matrix * positional_directions(d, model.directions()).transpose();
  double risk = 0.5 * model.lambda * Q.squaredNorm();
  for (std::int64_t sample = 0; sample < instance.draw().samples; ++sample) {
    MatrixXd x(L, d);
    for (int l = 0; l < L; ++l) {
      std::vector<double> row(static_cast<std::size_t>(d));
      numerics::fill_normals(random_stream(instance.draw(), RandomPurpose::data),
                             static_cast<std::uint64_t>(sample * L + l), row.data(), row.size());
      for (int i = 0; i < d; ++i) x(l, i) = model.sigma[l] * row[static_cast<std::size_t>(i)];
    }
    const MatrixXd teacher_scores =
        x * instance.teacher() * instance.teacher().transpose() * x.transpose() / d;
    const MatrixXd T = (1 - model.omega) * softmax(teacher_scores) + model.omega * model.teacher_matrix;
    const MatrixXd S = softmax((x + p) * Q * Q.transpose() * (x + p).transpose() / d);
    risk += (T * x - S * (x + p)).squaredNorm() / (2.0 * d);
  }
  return risk;
}

}  // namespace

TEST_CASE("risk and gradient agree with the plain definition and with finite differences") {
  for (const int tokens : {2, 3})
    for (const int rank : {1, 2})
      for (const double positional : {0.0, 1.0}) {
        CAPTURE(tokens);
        CAPTURE(rank);
        CAPTURE(positional);
        Model model = small_model(tokens, rank);
        model.positional_matrix *= positional;
        const int d = 13;
        const FiniteSize<double> instance(model, {1, 0, d, 9});
        const MatrixXd Q = normals(d, rank, 1.0, 7);
        MatrixXd gradient;
        const double risk = instance.risk(Q, &gradient);
        CHECK(risk == doctest::Approx(plain_risk(instance, Q)).epsilon(1e-13));
        CHECK(instance.risk(Q, nullptr) == risk);
        for (int i = 0; i < d; ++i)
          for (int k = 0; k < rank; ++k) {
            MatrixXd forward = Q, backward = Q;
            const double step = 1e-4;
            forward(i, k) += step;
            backward(i, k) -= step;
            const double slope =
                (plain_risk(instance, forward) - plain_risk(instance, backward)) / (2 * step);
            CHECK(std::abs(gradient(i, k) - slope) < 1e-8);
          }
      }
}

TEST_CASE("the risk is even in Q, and at Q = 0 it is that of uniform attention") {
  const FiniteSize<double> instance(Model{}, {3, 0, 30, 40});
  const MatrixXd Q = normals(30, 1, 1.0, 7);
  CHECK(instance.risk(-Q, nullptr) == doctest::Approx(instance.risk(Q, nullptr)).epsilon(1e-14));
  const MatrixXd uniform = MatrixXd::Constant(2, 2, 0.5);
  double expected = 0;
  for (int sample = 0; sample < 40; ++sample) {
    const MatrixXd M = uniform - instance.attention(sample);
    expected += (M * instance.gram(sample) * M.transpose()).trace() / 60;  // p_1 + p_2 = 0
  }
  CHECK(instance.risk(MatrixXd::Zero(30, 1), nullptr) == doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("single precision stores slightly other data") {
  const Draw draw{3, 0, 100, 200};
  const FiniteSize<double> exact(Model{}, draw);
  const FiniteSize<float> rounded(Model{}, draw);
  const MatrixXd Q = normals(100, 1, 1.0, 7);
  MatrixXd gradient, rounded_gradient;
  const double risk = exact.risk(Q, &gradient);
  CHECK(rounded.risk(Q, &rounded_gradient) == doctest::Approx(risk).epsilon(1e-6));
  CHECK((gradient - rounded_gradient).norm() < 1e-6 * gradient.norm());
}

TEST_CASE("draws: larger experiments begin with the samples of smaller ones, instances differ") {
  const FiniteSize<double> small(Model{}, {3, 0, 20, 5}), large(Model{}, {3, 0, 20, 9}),
      other(Model{}, {3, 1, 20, 5});
  CHECK(small.teacher() == large.teacher());
  CHECK(small.gram(4) == large.gram(4));
  CHECK(small.gram(4) != other.gram(4));
}

TEST_CASE("sizes that make no sense are refused") {
  CHECK_THROWS_AS(FiniteSize<double>(Model{}, {0, 0, 0, 5}), std::invalid_argument);
  CHECK_THROWS_AS(FiniteSize<double>(Model{}, {0, 0, 5, 0}), std::invalid_argument);
}
