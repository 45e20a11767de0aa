#include "qksolve/numerics/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "qksolve/numerics/random_normals.hpp"

using namespace qksolve::numerics;
using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST_CASE("mean and standard error") {
  const MeanEstimate estimate = mean_estimate(VectorXd::LinSpaced(5, 1, 5));
  CHECK(estimate.mean == 3);
  CHECK(*estimate.error == doctest::Approx(std::sqrt(2.5 / 5)));
  CHECK(!mean_estimate(VectorXd::Ones(1)).error);
}

// Student's t at 97.5 % with four degrees of freedom is 2.7764451.
TEST_CASE("interval of a mean") {
  const MeanInterval interval = student_interval(VectorXd::LinSpaced(5, 1, 5));
  CHECK(interval.mean == 3);
  CHECK(interval.high - 3 == doctest::Approx(2.7764451 * std::sqrt(2.5 / 5)).epsilon(1e-7));
  CHECK(3 - interval.low == doctest::Approx(interval.high - 3));
}

TEST_CASE("control variates remove what they explain, without bias") {
  // values = 7 + 3 c_1 - 2 c_2 + noise / 10 over 400 experiments of 20 values each.
  const int experiments = 400, count = 20;
  VectorXd means(experiments);
  double mean_square_error = 0;
  for (int k = 0; k < experiments; ++k) {
    MatrixXd controls(count, 2);
    VectorXd noise(count);
    fill_normals({1, 0, 0, 0}, static_cast<std::uint64_t>(k), controls.data(), 2 * count);
    fill_normals({2, 0, 0, 0}, static_cast<std::uint64_t>(k), noise.data(), count);
    const VectorXd values =
        (7 + 3 * controls.col(0).array() - 2 * controls.col(1).array() + 0.1 * noise.array()).matrix();
    const auto estimate = controlled_mean(values, controls);
    REQUIRE(estimate);
    means[k] = estimate->mean;
    mean_square_error += *estimate->error * *estimate->error / experiments;
  }
  const double spread = std::sqrt((means.array() - 7).square().mean());
  CHECK(std::abs(means.mean() - 7) < 5 * spread / std::sqrt(experiments));
  CHECK(spread == doctest::Approx(std::sqrt(mean_square_error)).epsilon(0.15));  // errors are honest
  CHECK(spread < 0.03);  // .1/sqrt(20) = .022 without the cost of fitting, .81 without controls
  CHECK(!controlled_mean(VectorXd::Ones(7), MatrixXd::Ones(7, 2)));
}

TEST_CASE("errors with control variates are honest for few values") {
  // Twelve values and four controls that explain nothing: large deviations as rare as those of Student's t.
  const int experiments = 2000, count = 12;
  double square = 0;
  int far = 0;
  for (int k = 0; k < experiments; ++k) {
    MatrixXd controls(count, 4);
    VectorXd values(count);
    fill_normals({3, 0, 0, 0}, static_cast<std::uint64_t>(k), controls.data(), 4 * count);
    fill_normals({4, 0, 0, 0}, static_cast<std::uint64_t>(k), values.data(), count);
    const auto estimate = controlled_mean(values, controls);
    const double in_errors = estimate->mean / *estimate->error;
    square += in_errors * in_errors / experiments;
    far += std::abs(in_errors) > 4;
  }
  CHECK(square < 1.2);
  CHECK(far < 12);  // P(|t| > 4) = .005 for 7 degrees of freedom
}

TEST_CASE("a weighted line through exact points, with the textbook errors") {
  const VectorXd x = VectorXd::LinSpaced(4, 0, 3);
  const LineFit fit = fit_line(x, (2 + 0.5 * x.array()).matrix(), VectorXd::Constant(4, 0.1));
  CHECK(fit.intercept == doctest::Approx(2));
  CHECK(fit.slope == doctest::Approx(0.5));
  CHECK(fit.chi_square == doctest::Approx(0).epsilon(1e-12));
  CHECK(fit.degrees_of_freedom == 2);
  // Equal errors s: var slope = s^2 / sum (x - mean)^2 = s^2/5, var intercept = s^2 (1/4 + 1.5^2/5).
  CHECK(fit.slope_error == doctest::Approx(0.1 / std::sqrt(5.0)));
  CHECK(fit.intercept_error == doctest::Approx(0.1 * std::sqrt(0.25 + 2.25 / 5)));
  CHECK_THROWS_AS(fit_line(VectorXd::Ones(3), x.head(3), VectorXd::Ones(3)), std::invalid_argument);
}
