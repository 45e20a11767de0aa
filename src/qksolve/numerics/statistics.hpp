// Averages over repeated experiments.
#pragma once

#include <Eigen/Core>
#include <optional>

namespace qksolve::numerics {

struct MeanEstimate {
  double mean = 0;
  std::optional<double> error;  // standard error of the mean; nothing for a single value
};

// Of independent values, at least one.
MeanEstimate mean_estimate(const Eigen::VectorXd& values);

// The mean of independent normal values, at least two, with its 95 % interval (Student).
struct MeanInterval {
  double mean, low, high;
};
MeanInterval student_interval(const Eigen::VectorXd& values);

// The mean with the fluctuations explained by controls removed. Row i of `controls` belongs to value i and
// has mean zero in law. The coefficients are fitted by least squares, for each value from all the others,
// which leaves the estimate without bias; the error includes the noise of the coefficients. Nothing with
// fewer than 2 controls + 4 values, where little would be gained.
std::optional<MeanEstimate> controlled_mean(const Eigen::VectorXd& values, const Eigen::MatrixXd& controls);

// Weighted least squares of a line y = intercept + slope x, with independent errors > 0 of y. Needs two
// different x, else std::invalid_argument.
struct LineFit {
  double intercept, intercept_error, slope, slope_error;
  double chi_square;
  int degrees_of_freedom;
};
LineFit fit_line(const Eigen::VectorXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& error);

}  // namespace qksolve::numerics
