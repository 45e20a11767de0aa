// The error of the best prediction, against a table, the error of a student drawn from the posterior, and the
// linear baseline.
#include "qksolve/phase/equations/bayes_optimal/prediction.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "qksolve/numerics/quasi_random.hpp"
#include "qksolve/numerics/statistics.hpp"
#include "qksolve/phase/finite_size/draws.hpp"
#include "qksolve/phase/two_token/teacher.hpp"

using namespace qksolve::phase;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using qksolve::phase::bayes::Prediction;
using qksolve::phase::bayes::Predictor;
using qksolve::phase::bayes::solve;

namespace {

// A student drawn from the posterior has |Q|^2/d = 1 and the overlap q with the teacher, as two draws from
// the posterior have with each other: its error is twice that of their mean.
Overlaps drawn(double q) {
  const auto matrix = [](double value) { return MatrixXd::Constant(1, 1, value); };
  return {matrix(1), matrix(q), matrix(0), matrix(1 - q)};
}

Model model_of(const VectorXd& sigma) {
  const auto L = sigma.size();
  Model model;
  model.tokens = static_cast<int>(L);
  model.sigma = sigma;
  model.omega = 0;
  model.teacher_matrix = MatrixXd::Constant(L, L, 1.0 / static_cast<double>(L));
  model.positional_matrix = VectorXd::LinSpaced(L, 1, -1);
  return model;
}

}  // namespace

TEST_CASE("error of the best prediction at sigma = .5") {
  // This project's theory note: nested quadrature and a Hermite series agree on these digits.
  const Predictor predictor(VectorXd::Constant(2, 0.5), 1e-10, 0);
  for (const auto& [alpha, expected] : {std::pair{0.1, 0.0040232333},
                                        {0.2, 0.0040152999},
                                        {0.25, 0.0039444688},
                                        {0.3, 0.0037430456},
                                        {0.35, 0.0033369343},
                                        {0.4, 0.0026434208},
                                        {0.45, 0.0015682011},
                                        {0.49, 0.0003592172},
                                        {0.5, 0.0}}) {
    CAPTURE(alpha);
    const Prediction found = predictor(solve(2, alpha).state);
    CHECK(std::abs(found.error - expected) < 1.01e-10);
    CHECK(found.uncertainty <= 1e-10 * found.error);
  }
}

TEST_CASE("half the error of a student drawn from the posterior; without knowledge, that of the baseline") {
  for (const double sigma : {0.2, 0.5, 1.0}) {
    CAPTURE(sigma);
    const Model model = model_of(VectorXd::Constant(2, sigma));
    const Predictor predictor(model.sigma, 1e-9, 0);
    CHECK(predictor({0, 1}).error == doctest::Approx(linear_baseline(model)).epsilon(1e-9));
    for (const double q : {0.2, 0.7, 0.98}) {
      double error = 0;
      const double student = two_token_generalization_error(model, drawn(q), 1e-7, error);
      const Prediction found = predictor({q, 1 - q});
      CHECK(std::abs(found.error - 0.5 * student) < error + found.uncertainty);
    }
  }
}

TEST_CASE("tokens with their own sigma, and more than two: the posterior variance of the attention") {
  constexpr int kLog2 = 13, kReplicates = 16, kDraws = 3;
  constexpr std::size_t kPoints = std::size_t{1} << kLog2;
  for (const VectorXd& sigma : {VectorXd(Eigen::Vector2d(0.4, 0.9)), VectorXd(Eigen::Vector3d(0.5, 0.8, 0.3)),
                                VectorXd(VectorXd::Constant(4, 0.6))}) {
    CAPTURE(sigma.transpose());
    const auto L = sigma.size();
    const Predictor predictor(sigma, 1e-3, 0);
    for (const double q : {0.0, 0.2, 0.95}) {
      CAPTURE(q);
      VectorXd means(kReplicates);
      for (int r = 0; r < kReplicates; ++r) {
        const auto x =
            qksolve::numerics::shifted_sobol_normals(static_cast<int>(L) * (1 + kDraws), kLog2, 5, r);
        double sum = 0;
        for (std::size_t i = 0; i < kPoints; ++i) {
          MatrixXd first = MatrixXd::Zero(L, L), second = first;
          for (int k = 1; k <= kDraws; ++k) {
            VectorXd h(L);
            for (Eigen::Index l = 0; l < L; ++l)
              h(l) = sigma(l) * (std::sqrt(q) * x[static_cast<std::size_t>(l) * kPoints + i] +
                                 std::sqrt(1 - q) * x[static_cast<std::size_t>(k * L + l) * kPoints + i]);
            const MatrixXd S = softmax_attention(h);
            first += S;
            second += S.cwiseAbs2();
          }
          const MatrixXd variance = (second - first.cwiseAbs2() / kDraws) / (kDraws - 1);
          sum += 0.5 * variance.colwise().sum().dot(sigma.cwiseAbs2());
        }
        means(r) = sum / kPoints;
      }
      const auto expected = qksolve::numerics::mean_estimate(means);
      const Prediction found = predictor({q, 1 - q});
      CHECK(found.uncertainty <= 1e-3 * found.error);
      CHECK(std::abs(found.error - expected.mean) < 4 * std::hypot(found.uncertainty, *expected.error));
    }
  }
}
