#include "qksolve/flow/theory/invariant.hpp"

#include <algorithm>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/expint.hpp>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "qksolve/numerics/gauss_rules.hpp"

namespace qksolve::flow {
namespace {

// Above this a = |imbalance|/(2 q) a quadrature takes fewer terms than the Bessel series, which needs more
// than a.
constexpr double kLargeScale = 30;

// Newton's method on a convex increasing function, kept at or above `low`. `step` gives F/F' at a point,
// `limit` the longest step allowed there (from the left the tangent overshoots), `scale` what an error is
// compared with. Quadratic convergence makes the last step, of relative size 1e-9, exact to rounding.
template <class Step, class Limit, class Scale>
double newton(double guess, double low, Step step, Limit limit, Scale scale) {
  double x = std::max(guess, low);
  for (int i = 0; i < 1000; ++i) {
    const double bound = limit(x), move = std::clamp(step(x), -bound, bound);
    if (!std::isfinite(move)) break;
    x = std::max(x - move, low);
    if (std::abs(move) <= 1e-9 * std::min(1.0, scale(x))) return x;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Invariant::Invariant(const Model& model) : model_(model), rate_ratio_(model.rate_ratio()) {
  model.validate();
  if (model.ov_never_moves() || model.qk_never_moves())
    throw std::invalid_argument("a balanced factorized circuit that starts at zero never moves");
  if (!model.parameterization.factorized_qk) return;
  twice_q_ = 2.0 * std::sqrt(model.task.qk_multiplier());
  balanced_ = model.imbalance_qk == 0;
  if (balanced_) {
    start_l_ = boost::math::expint(model.start.beta);
  } else {
    scale_ = std::abs(model.imbalance_qk) / twice_q_;
    start_l_ = unbalanced(std::asinh(model.start.beta / scale_));
  }
}

double Invariant::h_change(double increase) const {
  const double u0 = model_.start.u, squares = increase * (2.0 * u0 + increase);  // u^2 - u0^2
  return model_.parameterization.factorized_ov
             ? squares / (model_.ov_factor(u0 + increase) + model_.ov_factor(u0))
             : 0.5 * squares;
}

// The integral of (1 + kappa e^beta) d theta, up to a constant.
double Invariant::unbalanced(double theta) {
  return theta + model_.task.kappa() *
                     (scale_ < kLargeScale ? bessel_series(theta) : quadrature(scale_ * std::sinh(theta)));
}

// All terms are sums of positive quantities times J_k(a), so small theta keeps its relative precision.
double Invariant::bessel_series(double theta) {
  auto bessel = [this](std::size_t order) {
    while (bessel_.size() <= order)
      bessel_.push_back(
          boost::math::cyl_bessel_j(static_cast<int>(bessel_.size()), static_cast<long double>(scale_)));
    return bessel_[order];
  };
  if (scale_ < 1 && theta > 1) return static_cast<double>(bessel(0)) * theta + small_scale_series(theta);
  const long double growth = std::expm1(static_cast<long double>(theta));
  long double sum = bessel(0) * static_cast<long double>(theta);
  long double power = growth;  // e^{k theta} - 1
  for (std::size_t k = 1; k < 5000; ++k) {
    const long double decay = power / (1 + power);  // 1 - e^{-k theta}
    const long double term =
        bessel(k) / static_cast<long double>(k) * (k % 2 == 0 ? power + decay : power * decay);
    sum += term;
    if (static_cast<double>(k) > scale_ && std::abs(term) <= 1e-20L * std::abs(sum)) break;
    power = power + growth + power * growth;
  }
  return static_cast<double>(sum);
}

// The sum with J_k(a) = (a/2)^k/k! c_k, c_k = sum_i (-a^2/4)^i/(i! (k+1)...(k+i)): for small a the factors of
// J_k(a) e^{k theta} alone would leave the range of numbers.
double Invariant::small_scale_series(double theta) const {
  const double half = 0.5 * scale_, grown = half * std::exp(theta), shrunk = half * std::exp(-theta);
  double middle = 1, up = 1, down = 1, sum = 0;  // (a/2)^k/k!, the same times e^{k theta} and e^{-k theta}
  for (int k = 1; k < 5000; ++k) {
    middle *= half / k;
    up *= grown / k;
    down *= shrunk / k;
    double correction = 1, c = 1;
    for (int i = 1; std::abs(c) > 1e-18; ++i)
      correction += c *= -half * half / (static_cast<double>(i) * (k + i));
    const double term = correction / k * (k % 2 == 0 ? up - down : up + down - 2 * middle);
    sum += term;
    if (k > grown && std::abs(term) <= 1e-18 * std::abs(sum)) break;
  }
  return sum;
}

// int e^x/sqrt(x^2 + a^2) dx from start.beta to beta. What lies 45 below beta is negligible, and on so short
// a stretch Gauss's rule is exact to rounding because the singularities at +-i a are far.
double Invariant::quadrature(double beta) const {
  static const numerics::GaussRule rule = numerics::gauss_legendre(48);
  const double low = std::max(model_.start.beta, beta - 45), half = 0.5 * (beta - low);
  double sum = 0;
  for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
    const double x = low + half * (1 + rule.nodes[i]);
    sum += rule.weights[i] * std::exp(x) / std::hypot(x, scale_);
  }
  return half * sum;
}

double Invariant::l_change(double beta) {
  const double beta0 = model_.start.beta, kappa = model_.task.kappa();
  if (!model_.parameterization.factorized_qk) {
    const double rise = beta - beta0;
    return rise + kappa * std::exp(beta0) * std::expm1(rise);
  }
  if (balanced_) return (std::log(beta / beta0) + kappa * (boost::math::expint(beta) - start_l_)) / twice_q_;
  return (unbalanced(std::asinh(beta / scale_)) - start_l_) / twice_q_;
}

// rise + A (e^rise - 1) = target with A = kappa e^{beta0}: rise = target + A - W(A e^{target + A}).
double Invariant::collapsed_beta(double target) const {
  const double weight = model_.task.kappa() * std::exp(model_.start.beta);
  const double log_argument = std::log(weight) + weight + target;
  double w = log_argument;
  if (log_argument < 700) {
    w = boost::math::lambert_w0(std::exp(log_argument));
  } else {  // w + ln w = log_argument
    for (int i = 0; i < 4; ++i) w -= (w + std::log(w) - log_argument) / (1.0 + 1.0 / w);
  }
  // The difference cancels when the rise is small; Newton's method on the equation itself restores the
  // digits.
  const double beta0 = model_.start.beta;
  const double rise = newton(
      target + weight - w, 0.0,
      [&](double x) { return (x + weight * std::expm1(x) - target) / (1.0 + weight * std::exp(x)); },
      [](double) { return 1.0; }, [&](double x) { return beta0 + x; });
  return beta0 + rise;
}

double Invariant::beta_at(double increase, double guess) {
  const double target = rate_ratio_ * h_change(increase), beta0 = model_.start.beta,
               kappa = model_.task.kappa();
  if (target == 0) return beta0;
  if (!model_.parameterization.factorized_qk) return collapsed_beta(target);
  if (balanced_) {
    const double log_beta = newton(
        std::log(std::max(guess, beta0)), std::log(beta0),
        [&](double x) {
          const double beta = std::exp(x);
          return (x - std::log(beta0) + kappa * (boost::math::expint(beta) - start_l_) - twice_q_ * target) /
                 (1.0 + kappa * std::exp(beta));
        },
        [](double x) { return 1.0 / (1.0 + std::exp(x)); }, [](double) { return 1.0; });
    return std::exp(log_beta);
  }
  const double theta = newton(
      std::asinh(guess / scale_), std::asinh(beta0 / scale_),
      [&](double x) {
        return (unbalanced(x) - start_l_ - twice_q_ * target) /
               (1.0 + kappa * std::exp(scale_ * std::sinh(x)));
      },
      [&](double x) { return 1.0 / (1.0 + scale_ * std::cosh(x)); }, [](double x) { return x; });
  return scale_ * std::sinh(theta);
}

double Invariant::drift(double increase, double beta) {
  if (beta == 0) return 0;
  const double difference = l_change(beta) - rate_ratio_ * h_change(increase);
  return std::abs(difference) * model_.attention_missing(beta) * model_.qk_factor(beta) / beta;
}

}  // namespace qksolve::flow
