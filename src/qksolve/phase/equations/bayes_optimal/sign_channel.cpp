#include "qksolve/phase/equations/bayes_optimal/sign_channel.hpp"

#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace qksolve::phase::bayes {
namespace {

// y^nu K_nu(y) / (2^{nu - 1} Gamma(nu)), nu > 0: falls from 1 at y = 0.
double scaled_bessel(double nu, double y) {
  if (nu > 1 && y * y < 4 * (nu - 1) * 1e-17) return 1;
  const double log_scale = nu * std::log(y) - (nu - 1) * std::numbers::ln2 - std::lgamma(nu);
  return std::exp(log_scale + std::log(boost::math::cyl_bessel_k(nu, y)));
}

// Density at y of x.x', half a Bessel function of order (L - 1)/2; times |x|^2 of order (L + 1)/2.
double plain_density(int tokens, double y) {
  if (tokens == 1) return boost::math::cyl_bessel_k(0, y) / std::numbers::pi;
  const double nu = 0.5 * (tokens - 1);
  const double at_zero =
      std::exp(std::lgamma(nu) - std::lgamma(0.5 * tokens)) / (2 * std::sqrt(std::numbers::pi));
  return at_zero * scaled_bessel(nu, y);
}
double weighted_density(int tokens, double y) {
  const double nu = 0.5 * (tokens + 1);
  const double at_zero = std::exp(std::lgamma(nu) - std::lgamma(0.5 * tokens)) / std::sqrt(std::numbers::pi);
  return at_zero * scaled_bessel(nu, y);
}

// beta(b) = sum_k (-1)^k/(b + k), and its derivative.
double beta(double b) { return 0.5 * (boost::math::digamma(0.5 * (b + 1)) - boost::math::digamma(0.5 * b)); }
double beta_derivative(double b) {
  return 0.25 * (boost::math::trigamma(0.5 * (b + 1)) - boost::math::trigamma(0.5 * b));
}

// From here on the digits that cancel in the closed form are fewer than four.
constexpr double kClosedForm = 1e-2;

}  // namespace

SignPosterior sign_posterior(const Eigen::VectorXd& z, const Eigen::VectorXd& centre, double variance) {
  const double a = z.dot(centre) / variance;
  const double log_cosh = std::abs(a) + std::log1p(std::exp(-2 * std::abs(a))) - std::numbers::ln2;
  const double exponent = 0.5 * (z.squaredNorm() + centre.squaredNorm()) / variance;
  const double norm = 0.5 * static_cast<double>(z.size()) * std::log(2 * std::numbers::pi * variance);
  return {z * std::tanh(a), log_cosh - exponent - norm};
}

SignChannel::SignChannel(int tokens, double step) : tokens_(tokens) {
  if (tokens < 1 || tokens > 64) throw std::invalid_argument("tokens must be from 1 to 64");
  // y = exp(t - exp(-t)): both tails fall doubly exponentially where the integrand falls like exp(-y).
  const double low = -4.25, high = 6.5;
  for (int i = 0; low + i * step <= high; ++i) {
    const double t = low + i * step;
    const double y = std::exp(t - std::exp(-t));
    const double weight = 2 * step * y * (1 + std::exp(-t));
    nodes_.push_back({y, weight * weighted_density(tokens, y), weight * plain_density(tokens, y)});
  }
}

double SignChannel::kernel(double q) const {
  double sum = 0;
  for (const Node& node : nodes_) sum += node.weighted / std::cosh(std::sqrt(q) * node.y);
  return sum;
}

double SignChannel::information(double q, double one_minus_q) const {
  const double L = tokens_;
  const double power = std::pow(one_minus_q, 0.5 * L);
  if (tokens_ == 2 && q > kClosedForm) return L - power * two_token_kernel(q);
  // L - K_L and 1 - (1 - q)^{L/2} are of order q: neither is left to a difference.
  double missing = 0;
  for (const Node& node : nodes_) {
    const double half = std::sinh(0.5 * std::sqrt(q) * node.y);
    missing += node.weighted * 2 * half * half / (1 + 2 * half * half);
  }
  const double drop = q < 0.5 ? -std::expm1(0.5 * L * std::log1p(-q)) : 1 - power;
  return missing + drop * (L - missing);
}

double SignChannel::sign_entropy(double q, double one_minus_q) const {
  if (tokens_ == 2 && q > kClosedForm) return two_token_sign_entropy(q);
  // cosh(a) times the entropy at the field a, log(2 cosh a) - a tanh a.
  double sum = 0;
  for (const Node& node : nodes_) {
    const double a = std::sqrt(q) * node.y;
    const double e = std::exp(-a);
    // log1p(e^2)/e^2 is 1 where e^2 is lost beside 1.
    const double ratio = e > 1e-9 ? std::log1p(e * e) / (e * e) : 1;
    sum += node.plain * e * (0.5 * (1 + e * e) * ratio + a);
  }
  return std::pow(one_minus_q, 0.5 * tokens_) * sum;
}

double two_token_kernel(double q) {
  const double s = std::sqrt(q), b = 0.5 * (1 + s) / s;
  return beta(b) / s - beta_derivative(b) / (2 * q);
}

double two_token_sign_entropy(double q) {
  const double s = std::sqrt(q);
  return std::numbers::ln2 - s * beta(0.5 * (1 + s) / s);
}

}  // namespace qksolve::phase::bayes
