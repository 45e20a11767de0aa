#include "qksolve/flow/theory/route.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace qksolve::flow {

std::string status_name(Status status) {
  constexpr const char* names[] = {"converged", "step_limit", "iteration_limit", "non_finite", "failed"};
  return names[static_cast<std::size_t>(status)];
}

double Target::change(const Model& model, const State& state, const State& direction) const {
  if (of_beta) return direction.beta;
  const double p = model.attention(state.beta);
  return p * direction.u + state.u * p * model.attention_missing(state.beta) * direction.beta;
}

std::vector<Target> prepare(const Model& model, const Request& request, Trajectory& trajectory) {
  const auto& times = request.times;
  const double last = times.empty() ? 0 : times.back();
  if (!std::is_sorted(times.begin(), times.end()) || (!times.empty() && times.front() < 0) ||
      !std::isfinite(last))
    throw std::invalid_argument("times must be finite, at least 0 and ascending");
  if (!(request.end > 0) || !std::isfinite(request.end) || request.end < last)
    throw std::invalid_argument("the end must be positive and not before the last time");
  trajectory.at_times.resize(times.size());
  trajectory.at_losses.resize(request.losses.size());
  trajectory.at_betas.resize(request.betas.size());
  std::vector<Target> targets;
  for (std::size_t i = 0; i < request.losses.size(); ++i) {
    if (!(request.losses[i] > 0)) throw std::invalid_argument("losses must be positive");
    trajectory.at_losses[i].at_loss = request.losses[i];
    targets.push_back({false, model.margin_of_loss(request.losses[i]), &trajectory.at_losses[i], false});
  }
  for (std::size_t i = 0; i < request.betas.size(); ++i)
    targets.push_back({true, request.betas[i], &trajectory.at_betas[i], false});
  return targets;
}

void complete(const Model& model, Invariant& invariant, double increase, double tolerance, Point& point) {
  constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
  Point& x = point;
  const double p = x.attention = model.attention(x.beta);
  x.attention_missing = model.attention_missing(x.beta);
  x.margin = p * x.u;
  x.loss = model.loss(x.margin);
  x.attention_error = p * x.attention_missing * x.beta_error + rounding * p;
  x.attention_missing_error = p * x.attention_missing * x.beta_error + rounding * x.attention_missing;
  x.margin_error = p * x.u_error + x.u * x.attention_error + rounding * x.margin;
  x.loss_error = model.gate(x.margin) * x.margin_error + rounding * x.loss;
  x.drift = invariant.drift(increase, x.beta);
  if (x.status != Status::converged) return;
  auto precise = [&](double value, double error) { return error <= tolerance * std::abs(value); };
  if (!std::isfinite(x.drift) || !(x.drift <= tolerance)) {
    x.status = Status::failed;
    x.reason = "the invariant drifts by more than the tolerance";
  } else if (!precise(x.t, x.t_error) || !precise(x.u, x.u_error) || !precise(x.beta, x.beta_error) ||
             !precise(x.margin, x.margin_error) || !precise(x.loss, x.loss_error)) {
    x.status = Status::failed;
    x.reason = "an error is above the tolerance";
  }
}

}  // namespace qksolve::flow
