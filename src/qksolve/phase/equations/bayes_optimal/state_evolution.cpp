#include "qksolve/phase/equations/bayes_optimal/state_evolution.hpp"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace qksolve::phase::bayes {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double weak(int tokens) { return 1.0 / (tokens * (tokens + 1.0)); }

// In (-1, 1): 1 - q near 1 with its own digits, like q near 0.
State state_at(double place) { return place < 0 ? State{1 + place, -place} : State{place, 1 - place}; }

State fixed_point(const SignChannel& channel, double alpha) {
  if (alpha <= weak(channel.tokens())) return {0, 1};
  if (alpha >= 1.0 / channel.tokens()) return {1, 0};
  return increasing_root([&](const State& state) { return fixed_point_alpha(channel, state) - alpha; });
}

}  // namespace

State increasing_root(const std::function<double(const State&)>& function) {
  // q in (0, 1/2] as it is, beyond it through 1 - q.
  const auto at = [&](double place) { return function(state_at(place)); };
  const bool beyond = at(0.5) < 0;
  const double low = beyond ? -0.5 : 1e-300, high = beyond ? -1e-300 : 0.5;
  const double at_low = at(low), at_high = at(high);
  if (at_low >= 0) return beyond ? state_at(low) : State{0, 1};
  if (at_high <= 0) return beyond ? State{1, 0} : state_at(high);
  std::uintmax_t iterations = 200;
  const auto [a, b] = boost::math::tools::toms748_solve(
      at, low, high, at_low, at_high,
      [](double x, double y) { return std::abs(x - y) <= 2 * kEpsilon * std::min(std::abs(x), std::abs(y)); },
      iterations);
  return state_at(0.5 * (a + b));
}

State gaussian_prior(double q_hat) { return {q_hat / (1 + q_hat), 1 / (1 + q_hat)}; }

State step(const SignChannel& channel, double alpha, const State& state) {
  if (state.mse == 0) return state;
  return gaussian_prior(alpha * channel.information(state.q, state.mse) / state.mse);
}

double fixed_point_alpha(const SignChannel& channel, const State& state) {
  if (state.q < 1e-290) return weak(channel.tokens());
  return state.q / channel.information(state.q, state.mse);
}

std::optional<double> free_entropy(const SignChannel& channel, double alpha, const State& state) {
  if (state.q == 0) return 0.0;
  const double excess = 1 - alpha * channel.tokens();
  double logarithm = 0;
  if (state.mse > 0)
    logarithm = 0.5 * excess * (state.q < 0.5 ? std::log1p(-state.q) : std::log(state.mse));
  else if (excess != 0)
    return std::nullopt;
  return 0.5 * state.q + logarithm + alpha * (channel.sign_entropy(state.q, state.mse) - std::numbers::ln2);
}

Solution solve(int tokens, double alpha) {
  if (tokens < 2) throw std::invalid_argument("tokens must be at least 2");
  if (!(alpha > 0)) throw std::invalid_argument("alpha must be positive");
  const SignChannel channel(tokens), coarse(tokens, 0.125);
  Solution solution;
  solution.state = fixed_point(channel, alpha);
  const State& state = solution.state;
  solution.free_entropy = free_entropy(channel, alpha, state);
  if (state.q == 0 || state.mse == 0) {
    solution.q_error = solution.mse_error = 0;
    solution.free_entropy_error = state.q == 0 ? 0 : 4 * kEpsilon;
    return solution;
  }
  const State other = fixed_point(coarse, alpha);
  // Rounding of alpha(q) through its slope.
  const double further = state.q < 0.5 ? 1.001 * state.q : 1 - 0.999 * state.mse;
  const State neighbour{further, state.q < 0.5 ? 1 - further : 0.999 * state.mse};
  const double slope = (fixed_point_alpha(channel, neighbour) - alpha) / (neighbour.q - state.q);
  const double rounding = 8 * kEpsilon * alpha / std::abs(slope);
  const double other_difference =
      state.q < 0.5 ? std::abs(other.q - state.q) : std::abs(other.mse - state.mse);
  solution.q_error = solution.mse_error = other_difference + rounding;
  // The free entropy is stationary in q: only its integrals and their rounding count.
  solution.free_entropy_error =
      std::abs(free_entropy(coarse, alpha, state).value() - *solution.free_entropy) + 8 * kEpsilon;
  return solution;
}

Thresholds thresholds(int tokens) {
  const SignChannel channel(tokens);
  const double L = tokens;
  const auto negative_alpha = [&](double q) { return -fixed_point_alpha(channel, {q, 1 - q}); };
  constexpr int kGrid = 1000;
  double best = 1, largest = 1 / L;  // q = 1 with its alpha
  for (int i = 0; i < kGrid; ++i)
    if (const double q = static_cast<double>(i) / kGrid; - negative_alpha(q) > largest) {
      best = q;
      largest = -negative_alpha(q);
    }
  if (best < 1)
    largest = -boost::math::tools::brent_find_minima(negative_alpha, std::max(0.0, best - 1.0 / kGrid),
                                                     best + 1.0 / kGrid, 40)
                   .second;
  return {weak(tokens), 1 / L, largest, tokens > 1 ? 1 / (L - 1) : std::numeric_limits<double>::infinity()};
}

}  // namespace qksolve::phase::bayes
