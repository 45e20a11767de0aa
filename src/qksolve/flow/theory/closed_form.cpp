#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "qksolve/flow/theory/route.hpp"
#include "qksolve/numerics/bracketed_newton.hpp"

namespace qksolve::flow {
namespace {

constexpr int kDegree = 24;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

using Values = std::array<double, kDegree + 1>;

const Values& chebyshev_points() {  // ascending, -1 to 1
  static const Values points = [] {
    Values x;
    for (int j = 0; j <= kDegree; ++j) x[j] = -std::cos(M_PI * j / kDegree);
    return x;
  }();
  return points;
}

// Coefficients of the interpolating Chebyshev series through values at chebyshev_points().
Values chebyshev_series(const Values& values) {
  static const std::array<double, 2 * kDegree> cosine = [] {
    std::array<double, 2 * kDegree> c;
    for (int j = 0; j < 2 * kDegree; ++j) c[j] = std::cos(M_PI * j / kDegree);
    return c;
  }();
  Values series;
  for (int k = 0; k <= kDegree; ++k) {
    double sum = 0.5 * (values[kDegree] + (k % 2 == 0 ? values[0] : -values[0]));
    for (int j = 1; j < kDegree; ++j) sum += values[kDegree - j] * cosine[j * k % (2 * kDegree)];
    series[k] = sum * (k == 0 || k == kDegree ? 1.0 : 2.0) / kDegree;
  }
  return series;
}

template <class Series>
double clenshaw(const Series& series, double x) {
  double b1 = 0, b2 = 0;
  for (std::size_t k = series.size() - 1; k > 0; --k) {
    const double b = series[k] + 2.0 * x * b1 - b2;
    b2 = b1;
    b1 = b;
  }
  return series[0] + x * b1 - b2;
}

// A stretch [left, left + width] of the increase x = u - start.u, with dt/dx as a Chebyshev series.
struct Panel {
  double left = 0, width = 0, t_left = 0, t_right = 0;
  Values beta{}, slowness{};               // beta, dt/dx at the nodes
  Values series{};                         // of dt/dx
  std::array<double, kDegree + 2> time{};  // series of t - t_left
  double truncation = 0;                   // bound on the error of t - t_left from the series
  bool finite = false;

  double increase(double position) const { return left + 0.5 * width * (1.0 + position); }
  double time_at(double position) const { return t_left + clenshaw(time, position); }
};

class ClosedForm {
 public:
  ClosedForm(const Model& model, const Request& request)
      : model_(model), request_(request), invariant_(model), targets_(prepare(model, request, trajectory_)) {}

  Trajectory run() {
    while (next_time_ < request_.times.size() && request_.times[next_time_] == 0)
      finish_start(trajectory_.at_times[next_time_++]);
    for (Target& target : targets_)
      if (target.value(model_, model_.start) >= 0) {
        finish_start(*target.point);
        target.reached = true;
      }
    const double first = next_time_ < request_.times.size() ? request_.times[next_time_] : request_.end;
    shortest_ = std::min(1.0, first);
    // A hundredth of the time in which the first target would be reached at the initial speed.
    const State velocity = model_.velocity(model_.start);
    for (const Target& target : targets_) {
      const double time = -target.value(model_, model_.start) / target.change(model_, model_.start, velocity);
      if (!target.reached && time > 0) shortest_ = std::min(shortest_, 0.01 * time);
    }
    double t = 0, left = 0, beta = model_.start.beta, width = velocity.u * shortest_;
    for (int step = 0; !done(t); ++step) {
      if (step >= request_.step_limit) return stop(Status::step_limit, "the limit of panels was reached");
      if (step % 64 == 0) numerics::throw_if(request_.interrupted);
      if (!(width > 0) || !std::isfinite(width))
        return stop(Status::non_finite, "the speed of u is not finite and positive");
      const Panel panel = make_panel(left, width, t, beta);
      const double reference = std::max(t, shortest_);
      const double growth = (panel.t_right - t) / reference;
      if (!panel.finite || growth > 30 || panel.truncation > 1e-13 * reference) {
        width *= panel.finite && growth > 1000 ? 0.1 : 0.5;
        if (width < 1e-14 * (left + model_.start.u) || width < 1e-300)
          return stop(Status::non_finite, "the time as a function of u cannot be resolved");
        continue;
      }
      use(panel);
      left = panel.increase(1.0);
      t = panel.t_right;
      beta = panel.beta[kDegree];
      if (panel.truncation < 1e-15 * reference)
        width *= growth > 1.5 ? std::min(2.0, 3.0 / std::log1p(growth)) : 2.0;
    }
    return std::move(trajectory_);
  }

 private:
  bool done(double t) const {
    const bool reached =
        std::all_of(targets_.begin(), targets_.end(), [](const Target& x) { return x.reached; });
    return next_time_ == request_.times.size() && (reached || t > request_.end);
  }

  double slope(double increase, double beta) const {
    return model_.beta_slope({model_.start.u + increase, beta});
  }

  Panel make_panel(double left, double width, double t, double beta) {
    Panel panel;
    panel.left = left;
    panel.width = width;
    panel.t_left = t;
    double x = left;
    for (int j = 0; j <= kDegree; ++j) {
      const double here = panel.increase(chebyshev_points()[j]);
      beta = j == 0 && left == 0 ? model_.start.beta
                                 : invariant_.beta_at(here, beta + slope(x, beta) * (here - x));
      x = here;
      panel.beta[j] = beta;
      panel.slowness[j] = 1.0 / model_.velocity({model_.start.u + x, beta}).u;
      if (!std::isfinite(beta) || !std::isfinite(panel.slowness[j])) return panel;
    }
    panel.series = chebyshev_series(panel.slowness);
    const auto& c = panel.series;
    auto coefficient = [&](int k) { return k > kDegree ? 0.0 : (k == 0 ? 2.0 : 1.0) * c[k]; };
    const double half = 0.5 * width;
    double at_left = 0;
    for (int k = kDegree + 1; k > 0; --k) {
      panel.time[k] = half * (coefficient(k - 1) - coefficient(k + 1)) / (2.0 * k);
      at_left += k % 2 == 0 ? panel.time[k] : -panel.time[k];
    }
    panel.time[0] = -at_left;
    panel.t_right = panel.time_at(1.0);
    panel.truncation = half * (std::abs(c[kDegree]) + std::abs(c[kDegree - 1]) + std::abs(c[kDegree - 2]));
    panel.finite = std::isfinite(panel.t_right) && panel.t_right > t;
    return panel;
  }

  double beta_in(const Panel& panel, double increase, double position) {
    const auto& nodes = chebyshev_points();
    const auto node = std::clamp<std::ptrdiff_t>(
        std::upper_bound(nodes.begin(), nodes.end(), position) - nodes.begin() - 1, 0, kDegree);
    const double x = panel.increase(nodes[node]), beta = panel.beta[node];
    return invariant_.beta_at(increase, beta + slope(x, beta) * (increase - x));
  }

  void use(const Panel& panel) {
    const State right{model_.start.u + panel.increase(1.0), panel.beta[kDegree]};
    const double p = model_.attention(right.beta), s = p * right.u;
    const double sensitivity = right.u * p * model_.attention_missing(right.beta) * right.beta;
    time_error_ +=
        panel.truncation + kEpsilon * (8 + 2 * s + 8 * sensitivity) * (panel.t_right - panel.t_left);
    for (; next_time_ < request_.times.size() && request_.times[next_time_] <= panel.t_right; ++next_time_)
      at_time(panel, request_.times[next_time_], trajectory_.at_times[next_time_]);
    const bool last = panel.t_right > request_.end;
    for (Target& target : targets_) {
      if (target.reached) continue;
      if (target.value(model_, right) >= 0 && at_target(panel, target)) continue;
      if (last) {
        at_time(panel, request_.end, *target.point);
        target.point->status = Status::step_limit;
        target.point->reason = "not reached before the end of the run";
      }
    }
    // What is known should the run end here.
    latest_.t = panel.t_right;
    fill(right.u - model_.start.u, right.beta, 0.0, latest_);
  }

  void at_time(const Panel& panel, double t, Point& point) {
    const double total = panel.t_right - panel.t_left, guess = 2.0 * (t - panel.t_left) / total - 1.0;
    const double position =
        t >= panel.t_right
            ? 1.0
            : numerics::bracketed_newton(
                  [&](double x) {
                    return std::pair(panel.time_at(x) - t, 0.5 * panel.width * clenshaw(panel.series, x));
                  },
                  -1.0, 1.0, guess);
    const double increase = panel.increase(position);
    point.t = t;
    fill(increase, beta_in(panel, increase, position), time_error_, point);
  }

  // False if the target is reached only after the end.
  bool at_target(const Panel& panel, Target& target) {
    const double u0 = model_.start.u;
    auto state_at = [&](double position) {
      const double increase = panel.increase(position);
      return State{u0 + increase, beta_in(panel, increase, position)};
    };
    auto per_u = [&](const State& state) {
      return target.change(model_, state, {1.0, model_.beta_slope(state)});
    };
    const double position = numerics::bracketed_newton(
        [&](double x) {
          const State state = state_at(x);
          return std::pair(target.value(model_, state), 0.5 * panel.width * per_u(state));
        },
        -1.0, 1.0, 0.0);
    const double t = panel.time_at(position);
    if (t > request_.end) return false;
    const State state = state_at(position);
    Point& point = *target.point;
    point.t = t;
    fill(panel.increase(position), state.beta, 0.0, point);
    // The level is met to rounding: that moves u, and t with it.
    const double p = model_.attention(state.beta);
    const double level_error = target.of_beta ? point.beta_error
                                              : 4 * kEpsilon * point.margin +
                                                    state.u * p * point.attention_missing * point.beta_error;
    const double du = level_error / per_u(state) + 2 * kEpsilon * state.u;
    point.u_error += du;
    point.beta_error += model_.beta_slope(state) * du;
    point.t_error = time_error_ + du / model_.velocity(state).u;
    complete(model_, invariant_, panel.increase(position), request_.tolerance, point);
    target.reached = true;
    return true;
  }

  // u, beta and what follows, at a point whose time is off by `time_error`.
  void fill(double increase, double beta, double time_error, Point& point) {
    const State state{model_.start.u + increase, beta}, velocity = model_.velocity(state);
    point.u = state.u;
    point.beta = beta;
    point.u_error = velocity.u * time_error + 2 * kEpsilon * state.u;
    point.beta_error =
        velocity.beta * time_error + std::max(invariant_.drift(increase, beta), 8 * kEpsilon) * beta;
    complete(model_, invariant_, increase, request_.tolerance, point);
  }

  void finish_start(Point& point) {
    point.u = model_.start.u;
    point.beta = model_.start.beta;
    complete(model_, invariant_, 0.0, request_.tolerance, point);
  }

  Trajectory stop(Status status, const std::string& reason) {
    if (latest_.t == 0) finish_start(latest_);
    auto end = [&](Point& point) {
      const auto at_loss = point.at_loss;
      point = latest_;
      point.at_loss = at_loss;
      point.status = status;
      point.reason = reason;
    };
    for (; next_time_ < request_.times.size(); ++next_time_) end(trajectory_.at_times[next_time_]);
    for (Target& target : targets_)
      if (!target.reached) end(*target.point);
    return std::move(trajectory_);
  }

  const Model model_;
  const Request& request_;
  Invariant invariant_;
  Trajectory trajectory_;
  std::vector<Target> targets_;
  std::size_t next_time_ = 0;
  double shortest_ = 1;    // times below it need no relative precision
  double time_error_ = 0;  // of t at the end of the panels used so far
  Point latest_;
};

}  // namespace

Trajectory closed_form(const Model& model, const Request& request) {
  return ClosedForm(model, request).run();
}

}  // namespace qksolve::flow
