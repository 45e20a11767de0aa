#include "qksolve/numerics/minimizers.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <vector>

namespace qksolve::numerics {

using Eigen::VectorXd;

namespace {

struct Point {
  VectorXd x, gradient;
  double value = 0;

  bool finite() const { return std::isfinite(value) && gradient.allFinite(); }
};

Point evaluate(const Objective& objective, VectorXd x) {
  Point point{std::move(x), {}, 0};
  point.gradient.resize(point.x.size());
  point.value = objective(point.x, point.gradient);
  return point;
}

Minimum finish(const Point& point, int iterations, MinimizerStatus status) {
  return {point.x, point.value, point.gradient.norm(), iterations, status};
}

MinimizerStatus by_gradient(const Point& point, const MinimizerOptions& options) {
  return point.gradient.norm() <= options.gradient_tolerance ? MinimizerStatus::converged
                                                             : MinimizerStatus::iteration_limit;
}

// A fixed number of steps; `advance` turns the gradient of step k = 1, 2, ... into the change of x.
template <class Advance>
Minimum fixed_length(const Objective& objective, const VectorXd& start, const MinimizerOptions& options,
                     const Observer& observe, Advance advance) {
  Point point = evaluate(objective, start);
  if (!point.finite()) return finish(point, 0, MinimizerStatus::non_finite);
  for (int k = 0;; ++k) {
    const bool go_on = !observe || observe({k, point.x, point.value, point.gradient.norm()});
    if (k == options.steps || !go_on)
      return finish(point, k, go_on ? by_gradient(point, options) : MinimizerStatus::iteration_limit);
    Point next = evaluate(objective, point.x + advance(point.gradient, k + 1));
    if (!next.finite()) return finish(point, k, MinimizerStatus::non_finite);
    point = std::move(next);
  }
}

// Pairs (step, change of gradient) of the last iterations, newest at the back.
struct Curvature {
  static constexpr std::size_t kPairs = 12;
  std::deque<VectorXd> steps, changes;
  std::deque<double> inverse_products;

  void add(VectorXd step, VectorXd change) {
    const double product = step.dot(change);
    if (!(product > 0)) return;
    if (steps.size() == kPairs) {
      steps.pop_front();
      changes.pop_front();
      inverse_products.pop_front();
    }
    steps.push_back(std::move(step));
    changes.push_back(std::move(change));
    inverse_products.push_back(1.0 / product);
  }

  // Minus the approximate inverse Hessian times the gradient, by the two-loop recursion.
  VectorXd direction(const VectorXd& gradient) const {
    VectorXd d = -gradient;
    std::vector<double> along(steps.size());
    for (std::size_t i = steps.size(); i-- > 0;) {
      along[i] = inverse_products[i] * steps[i].dot(d);
      d -= along[i] * changes[i];
    }
    if (!steps.empty()) d /= inverse_products.back() * changes.back().squaredNorm();
    for (std::size_t i = 0; i < steps.size(); ++i)
      d += (along[i] - inverse_products[i] * changes[i].dot(d)) * steps[i];
    return d;
  }
};

constexpr double kDecrease = 1e-4, kCurvature = 0.9, kRounding = 1e-13;
constexpr int kTrials = 40;

// Moves `point` along `direction` from the trial length; false if no acceptable length is found.
bool line_search(const Objective& objective, Point& point, const VectorXd& direction, double length) {
  const double start_slope = point.gradient.dot(direction);
  double low = 0, low_slope = start_slope;
  double high = std::numeric_limits<double>::infinity(), high_slope = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Point next = evaluate(objective, point.x + length * direction);
    const bool finite = next.finite();
    const double slope = finite ? next.gradient.dot(direction) : 0;
    const bool decreased = finite && next.value <= point.value + kDecrease * length * start_slope;
    const bool unchanged = finite && next.value <= point.value + kRounding * std::abs(point.value);
    if ((decreased || unchanged) && std::abs(slope) <= -kCurvature * start_slope) {
      point = std::move(next);
      return true;
    }
    if (unchanged && slope < 0) {
      low = length;
      low_slope = slope;
    } else {
      high = length;
      high_slope = unchanged ? slope : 0;  // 0: the slope there says nothing about the interval
    }
    if (std::isinf(high)) {
      length *= 4;
    } else {
      // The secant's zero of the slope, kept off the ends.
      const double share = high_slope > 0 ? low_slope / (low_slope - high_slope) : 0.3;
      length = low + std::clamp(share, 0.1, 0.9) * (high - low);
    }
  }
  return false;
}

}  // namespace

Minimum gradient_descent(const Objective& objective, const VectorXd& start, const MinimizerOptions& options,
                         const Observer& observe) {
  return fixed_length(objective, start, options, observe, [&](const VectorXd& gradient, int) {
    return VectorXd(-options.learning_rate * gradient);
  });
}

Minimum adam(const Objective& objective, const VectorXd& start, const MinimizerOptions& options,
             const Observer& observe) {
  constexpr double kFirst = 0.9, kSecond = 0.999, kEpsilon = 1e-8;
  VectorXd mean = VectorXd::Zero(start.size()), square = VectorXd::Zero(start.size());
  return fixed_length(objective, start, options, observe, [&](const VectorXd& gradient, int k) {
    mean = kFirst * mean + (1 - kFirst) * gradient;
    square = kSecond * square + (1 - kSecond) * gradient.cwiseAbs2();
    const double mean_scale = 1 - std::pow(kFirst, k), square_scale = 1 - std::pow(kSecond, k);
    return VectorXd(-options.learning_rate / mean_scale * mean.array() /
                    ((square / square_scale).array().sqrt() + kEpsilon));
  });
}

Minimum lbfgs(const Objective& objective, const VectorXd& start, const MinimizerOptions& options,
              const Observer& observe) {
  Point point = evaluate(objective, start);
  if (!point.finite()) return finish(point, 0, MinimizerStatus::non_finite);
  Curvature curvature;
  for (int k = 0;; ++k) {
    if (observe && !observe({k, point.x, point.value, point.gradient.norm()}))
      return finish(point, k, MinimizerStatus::iteration_limit);
    const MinimizerStatus status = by_gradient(point, options);
    if (status == MinimizerStatus::converged || k == options.steps) return finish(point, k, status);
    VectorXd direction = curvature.direction(point.gradient);
    if (!(direction.dot(point.gradient) < 0)) {  // rounding has spoilt the pairs
      curvature = {};
      direction = -point.gradient;
    }
    // Without curvature a step is a tenth of x: informed starts must not be left for another valley.
    const double length = curvature.steps.empty()
                              ? 0.1 * std::max(point.x.norm(), 1e-3) / std::max(direction.norm(), 1e-300)
                              : 1.0;
    const VectorXd last_x = point.x, last_gradient = point.gradient;
    if (!line_search(objective, point, direction, length)) {
      if (curvature.steps.empty()) return finish(point, k, MinimizerStatus::iteration_limit);
      curvature = {};
      continue;
    }
    curvature.add(point.x - last_x, point.gradient - last_gradient);
  }
}

}  // namespace qksolve::numerics
