#include "qksolve/numerics/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <stdexcept>

#include "qksolve/numerics/dense.hpp"

namespace qksolve::numerics {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MeanEstimate mean_estimate(const VectorXd& values) {
  const double count = static_cast<double>(values.size());
  MeanEstimate estimate{values.mean(), {}};
  if (values.size() > 1)
    estimate.error = std::sqrt((values.array() - estimate.mean).square().sum() / (count - 1) / count);
  return estimate;
}

MeanInterval student_interval(const VectorXd& values) {
  const MeanEstimate estimate = mean_estimate(values);
  const boost::math::students_t_distribution<> law(static_cast<double>(values.size() - 1));
  const double half = *estimate.error * quantile(law, 1 - 0.025);
  return {estimate.mean, estimate.mean - half, estimate.mean + half};
}

std::optional<MeanEstimate> controlled_mean(const VectorXd& values, const MatrixXd& controls) {
  const Index count = values.size(), variables = controls.cols();
  if (count < 2 * variables + 4) return std::nullopt;
  VectorXd adjusted(count);
  for (Index left_out = 0; left_out < count; ++left_out) {
    MatrixXd design(count - 1, variables + 1);
    VectorXd others(count - 1);
    for (Index i = 0, row = 0; i < count; ++i) {
      if (i == left_out) continue;
      design.row(row) << 1.0, controls.row(i);
      others[row++] = values[i];
    }
    const VectorXd coefficients = least_squares(design, others);
    adjusted[left_out] = values[left_out] - controls.row(left_out).dot(coefficients.tail(variables));
  }
  MeanEstimate estimate = mean_estimate(adjusted);
  // The noise of the coefficients shifts all adjusted values together, times the mean of the controls: as in
  // least squares, where the variance of the intercept is that of the noise times the first entry of
  // (X'X)^{-1}.
  MatrixXd design(count, variables + 1);
  design << VectorXd::Ones(count), controls;
  const VectorXd first = VectorXd::Unit(variables + 1, 0);
  const double inverse = least_squares(design.transpose() * design, first)[0];
  *estimate.error *= std::sqrt(std::max(1.0, static_cast<double>(count) * inverse));
  return estimate;
}

LineFit fit_line(const VectorXd& x, const VectorXd& y, const VectorXd& error) {
  const Eigen::ArrayXd weight = error.array().square().inverse();
  const double total = weight.sum(), center = (weight * x.array()).sum() / total;
  const Eigen::ArrayXd from_center = x.array() - center;
  const double spread = (weight * from_center.square()).sum();
  if (!(spread > 0)) throw std::invalid_argument("a line needs two different places");
  LineFit fit{};
  fit.slope = (weight * from_center * y.array()).sum() / spread;
  fit.slope_error = std::sqrt(1.0 / spread);
  fit.intercept = (weight * y.array()).sum() / total - fit.slope * center;
  fit.intercept_error = std::sqrt(1.0 / total + center * center / spread);
  fit.chi_square = (weight * (y.array() - fit.intercept - fit.slope * x.array()).square()).sum();
  fit.degrees_of_freedom = static_cast<int>(x.size()) - 2;
  return fit;
}

}  // namespace qksolve::numerics
