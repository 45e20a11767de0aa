#include "qksolve/flow/theory/growth.hpp"

#include <algorithm>
#include <cmath>

namespace qksolve::flow {
namespace {

constexpr int kSamplesPerDecade = 8;

// Coordinates in which the unsaturated law is a straight line through the origin.
struct UnsaturatedLaw {
  explicit UnsaturatedLaw(const Model& model)
      : model_(model), x0_(raw_x(model.start.u)), y0_(raw_y(model.start.beta)) {}

  double x(const Point& point) const { return raw_x(point.u) - x0_; }
  double y(const Point& point) const { return raw_y(point.beta) - y0_; }
  double constant() const {
    const double qk = model_.parameterization.factorized_qk ? 2 * std::sqrt(model_.task.qk_multiplier()) : 1;
    const double ov = model_.parameterization.factorized_ov ? 2 * std::sqrt(model_.task.pool) : 2;
    return model_.rate_ratio() * model_.attention_missing(model_.start.beta) * qk / ov;
  }

 private:
  double raw_x(double u) const {
    return model_.parameterization.factorized_ov ? model_.ov_factor(u) / (2 * std::sqrt(model_.task.pool))
                                                 : u * u;
  }
  double raw_y(double beta) const {
    if (!model_.parameterization.factorized_qk) return beta;
    if (model_.imbalance_qk == 0) return std::log(beta);
    return std::asinh(2 * std::sqrt(model_.task.qk_multiplier()) * beta / std::abs(model_.imbalance_qk));
  }

  const Model& model_;
  double x0_, y0_;
};

void fit_unsaturated(const Model& model, const std::vector<Point>& points, Growth& growth) {
  const UnsaturatedLaw law(model);
  growth.beta_constant_predicted = law.constant();
  growth.u_slope_predicted = 1 / growth.start_attention;
  double n = 0, sum_l = 0, sum_u = 0, sum_ll = 0, sum_lu = 0, sum_xx = 0, sum_xy = 0;
  for (const Point& point : points) {
    if (point.margin < 1 || point.attention >= 1.2 * growth.start_attention) continue;
    const double l = std::log(point.t), x = law.x(point), y = law.y(point);
    n += 1;
    sum_l += l;
    sum_u += point.u;
    sum_ll += l * l;
    sum_lu += l * point.u;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  if (n < 3) return;
  growth.u_slope = (sum_lu - sum_l * sum_u / n) / (sum_ll - sum_l * sum_l / n);
  growth.beta_constant = sum_xy / sum_xx;
}

void compare_saturated(const Model& model, const Point& end, Growth& growth) {
  const double r = model.rate_ratio(), b = model.task.pool, q = std::sqrt(model.task.qk_multiplier());
  const auto [factorized_qk, factorized_ov] = model.parameterization;
  const double h = factorized_ov ? end.u / (2 * std::sqrt(b)) : 0.5 * end.u * end.u;  // leading H(u)
  const double missing = 1 / (r * h * (factorized_qk ? 2 * q * end.beta : 1.0));
  const State state{end.u, end.beta}, velocity = model.velocity(state);
  const double p = end.attention;
  growth.margin_slope = end.t * (p * velocity.u + end.u * p * end.attention_missing * velocity.beta);
  growth.attention_missing = end.attention_missing;
  growth.attention_missing_predicted = missing;
  growth.beta = end.beta;
  growth.beta_predicted = -std::log(model.task.kappa() * missing);
}

}  // namespace

Growth growth_laws(const Model& model, double end, double tolerance, Route route,
                   const numerics::Interrupt& interrupted) {
  Request request;
  request.interrupted = interrupted;
  request.end = end;
  request.tolerance = tolerance;
  const double decades = std::log10(end);
  for (int i = 0; i < kSamplesPerDecade * decades; ++i)
    request.times.push_back(std::min(end, std::pow(10.0, static_cast<double>(i) / kSamplesPerDecade)));
  request.times.push_back(end);
  request.losses = {model.loss(1.0)};
  request.betas = {-std::log(model.task.kappa()), model.start.beta + 1};
  const Trajectory run = route(model, request);

  Growth growth;
  growth.rate_ratio = model.rate_ratio();
  growth.start_attention = model.attention(model.start.beta);
  auto time = [](const Point& point) {
    return point.status == Status::converged ? std::optional<double>(point.t) : std::nullopt;
  };
  growth.margin_time = time(run.at_losses[0]);
  growth.saturation_time = time(run.at_betas[0]);
  growth.beta_time = time(run.at_betas[1]);

  std::vector<Point> points;
  for (const Point& point : run.at_times)
    if (point.status == Status::converged) points.push_back(point);
  if (!points.empty()) {
    const Point& last = points.back();
    growth.regime = last.attention >= 0.5 ? "saturated" : last.margin >= 1 ? "unsaturated" : "lazy";
    if (last.attention >= 0.5) compare_saturated(model, last, growth);
  }
  for (std::size_t i = kSamplesPerDecade; i < run.at_times.size(); i += kSamplesPerDecade) {
    const Point& point = run.at_times[i];
    if (point.status != Status::converged) break;
    const State velocity = model.velocity({point.u, point.beta});
    growth.local.push_back(
        {point.t, point.t * velocity.u, 0.5 * point.t * velocity.beta / std::log(point.t)});
  }
  fit_unsaturated(model, points, growth);
  if (model.parameterization == Parameterization{}) {
    const double p0 = growth.start_attention, r = growth.rate_ratio;
    growth.log_squared_window = r < 2 * p0 * p0;
    growth.window_log_end_predicted =
        std::log(model.task.pool / (p0 * p0 * model.eta_ov)) + p0 * std::sqrt(2 / (r * (1 - p0)));
  }
  return growth;
}

}  // namespace qksolve::flow
