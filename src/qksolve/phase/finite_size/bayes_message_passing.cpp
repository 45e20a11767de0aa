#include "qksolve/phase/finite_size/bayes_message_passing.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace qksolve::phase {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Beyond this field the sign is known to the last digit.
constexpr double kLargestField = 300;
// Below this precision, over that of the prior, finite size makes the equations unstable. The variance must be
// allowed to fall: the memory term needs the ratio of its values.
constexpr double kSmallestVariance = 1e-20, kSmallestPrecision = 0.5;
// No posterior mean is that long, |w|^2/d.
constexpr double kLargestLength = 10;

VectorXd noise(const FiniteSize<double>& instance) {
  VectorXd entries(instance.draw().dimension);
  numerics::fill_normals(random_stream(instance.draw(), RandomPurpose::start), 0, entries.data(),
                         static_cast<std::size_t>(entries.size()));
  return entries;
}

}  // namespace

BayesStart informed_start(const FiniteSize<double>& instance, double q) {
  return {q * instance.teacher().col(0) + std::sqrt(q * (1 - q)) * noise(instance), 1 - q};
}

BayesStart random_start(const FiniteSize<double>& instance) { return {0.1 * noise(instance), 1}; }

BayesRun bayes_message_passing(const FiniteSize<double>& instance, const BayesStart& start, int iterations,
                               double tolerance, const std::function<bool(const BayesPoint&)>& observe) {
  const Model& model = instance.model();
  if (model.teacher_rank != 1 || model.omega == 1)
    throw std::invalid_argument("message passing needs a teacher of rank one and omega < 1");
  const double d = static_cast<double>(instance.draw().dimension), L = model.tokens;
  const VectorXd teacher = instance.teacher().col(0);
  VectorXd w = start.w;
  double V = start.variance, residual = 0;
  MatrixXd g = MatrixXd::Zero(model.tokens, instance.draw().samples);
  const auto point = [&](int iteration) {
    const double overlap = w.dot(teacher) / d;
    return BayesPoint{iteration, std::abs(overlap), (w - (overlap < 0 ? -1 : 1) * teacher).squaredNorm() / d,
                      V};
  };
  for (int iteration = 0;; ++iteration) {
    const BayesPoint here = point(iteration);
    if ((observe && !observe(here)) || iteration == iterations)
      return {here, BayesRunStatus::iteration_limit, residual};
    double sum = 0;
    VectorXd next = instance.sweep(w, [&](std::int64_t first, int count, MatrixXd& h) {
      for (int i = 0; i < count; ++i) {
        const VectorXd z = instance.teacher_preactivation(first + i).col(0).cwiseQuotient(model.sigma);
        const VectorXd field = h.col(i).head(model.tokens).cwiseQuotient(model.sigma) - V * g.col(first + i);
        const double a = std::clamp(z.dot(field) / V, -kLargestField, kLargestField);
        g.col(first + i) = (std::tanh(a) * z - field) / V;
        sum += (L - z.squaredNorm() / (std::cosh(a) * std::cosh(a)) / V) / V;
        h.col(i).head(model.tokens) = g.col(first + i).cwiseQuotient(model.sigma);
      }
    });
    const double lambda = std::max(sum / d, kSmallestPrecision - 1);
    next = (next + lambda * w) / (1 + lambda);
    if (!(next.squaredNorm() < kLargestLength * d)) return {here, BayesRunStatus::non_finite, residual};
    residual = (next - w).norm() / std::sqrt(d);
    w = next;
    V = std::max(1 / (1 + lambda), kSmallestVariance);
    if (residual <= tolerance) return {point(iteration + 1), BayesRunStatus::converged, residual};
  }
}

}  // namespace qksolve::phase
