#include <algorithm>
#include <array>
#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_fehlberg78.hpp>
#include <cmath>

#include "qksolve/flow/theory/route.hpp"
#include "qksolve/numerics/bracketed_newton.hpp"

namespace qksolve::flow {
namespace {

namespace odeint = boost::numeric::odeint;
// u, beta and 1 + t. The last is known, but without it the lazy phase would be a mere integration over the
// clock, in which the two formulas of the Fehlberg pair coincide and their difference says nothing about the
// error.
using Vector = std::array<double, 3>;
using Controlled = odeint::controlled_runge_kutta<odeint::runge_kutta_fehlberg78<Vector>>;

// One run at one tolerance; the clock is ln(1 + t).
class Run {
 public:
  Run(const Model& model, const Request& request, double relative)
      : model_(model),
        request_(request),
        // The absolute tolerance only lets a component leave an exact zero.
        stepper_(Controlled::error_checker_type(1e-30, relative)) {}

  // Fills t, u, beta and status of every point of the trajectory.
  void go(Trajectory& trajectory, std::vector<Target>& targets) {
    state_ = {model_.start.u, model_.start.beta, 1.0};
    cross(targets, state_, 0.0);
    for (std::size_t i = 0; i < request_.times.size() && status_ == Status::converged; ++i, ++done_) {
      if (!advance(std::log1p(request_.times[i]), targets)) break;
      record(trajectory.at_times[i], request_.times[i], state_);
    }
    auto open = [](const Target& target) { return !target.reached; };
    if (status_ == Status::converged && std::any_of(targets.begin(), targets.end(), open))
      advance(std::log1p(request_.end), targets, true);
    const double t = std::expm1(clock_);
    for (; done_ < trajectory.at_times.size(); ++done_) give_up(trajectory.at_times[done_], t);
    for (Target& target : targets) {
      if (target.reached) continue;
      if (status_ == Status::converged) {
        status_ = Status::step_limit;
        reason_ = "not reached before the end of the run";
        give_up(*target.point, request_.end);
        status_ = Status::converged;
      } else {
        give_up(*target.point, t);
      }
    }
  }

 private:
  // d/d ln(1+t)
  void derivative(const Vector& x, Vector& dxdt) const {
    const State velocity = model_.velocity({x[0], x[1]});
    dxdt = {x[2] * velocity.u, x[2] * velocity.beta, x[2]};
  }

  static bool finite(const Vector& x) { return std::isfinite(x[0]) && std::isfinite(x[1]); }

  // One accepted step of at most `limit`; updates x, clock and step. False when the run cannot go on.
  bool step(Vector& x, double& clock, double& length, double limit) {
    auto system = [this](const Vector& y, Vector& dydt, double) { derivative(y, dydt); };
    for (;;) {
      if (++steps_ > request_.step_limit) return stop(Status::step_limit, "the limit of steps was reached");
      if (steps_ % 16 == 0) numerics::throw_if(request_.interrupted);
      const bool whole = length >= limit;
      double trial = whole ? limit : length;
      if (!(clock + trial > clock)) return stop(Status::non_finite, "the step length fell to zero");
      Vector next = x;
      double next_clock = clock;
      const double tried = trial;
      const bool accepted = stepper_.try_step(system, next, next_clock, trial) == odeint::success;
      if (!finite(next) || !std::isfinite(trial)) {
        length = 0.1 * tried;
        continue;
      }
      if (!accepted) {
        length = trial;
        continue;
      }
      // A step cut short to hit an output says nothing against the longer one.
      length = whole ? std::max(length, trial) : trial;
      x = next;
      clock = whole ? clock + limit : next_clock;
      x[2] = std::exp(clock);
      return true;
    }
  }

  // To `clock`, looking for targets on the way; stops early once all are reached if `only_targets`.
  bool advance(double end, std::vector<Target>& targets, bool only_targets = false) {
    while (clock_ < end) {
      const Vector before = state_;
      const double start = clock_;
      if (!step(state_, clock_, length_, end - clock_)) return false;
      if (end - clock_ < 1e-15 * end) clock_ = end;
      cross(targets, before, start);
      if (status_ != Status::converged) return false;
      if (only_targets &&
          std::all_of(targets.begin(), targets.end(), [](const Target& t) { return t.reached; }))
        break;
    }
    return true;
  }

  // Targets passed in the step from (before, start) to the present state: the step is integrated again up to
  // them.
  void cross(std::vector<Target>& targets, const Vector& before, double start) {
    for (Target& target : targets) {
      if (target.reached || target.value(model_, {state_[0], state_[1]}) < 0) continue;
      Vector x = before;
      double root = start;
      if (clock_ > start) {
        auto state_at = [&](double clock) {
          x = before;
          double now = start, length = clock - start;
          while (now < clock && step(x, now, length, clock - now)) {
          }
          return State{x[0], x[1]};
        };
        root = numerics::bracketed_newton(
            [&](double clock) {
              const State state = state_at(clock);
              Vector slope;
              derivative(x, slope);
              return std::pair(target.value(model_, state),
                               target.change(model_, state, {slope[0], slope[1]}));
            },
            start, clock_, 0.5 * (start + clock_));
        state_at(root);
      }
      target.reached = true;
      record(*target.point, std::expm1(root), x);
    }
  }

  void record(Point& point, double t, const Vector& x) const {
    point.t = t;
    point.u = x[0];
    point.beta = x[1];
  }

  void give_up(Point& point, double t) const {
    record(point, t, state_);
    point.status = status_;
    point.reason = reason_;
  }

  bool stop(Status status, const std::string& reason) {
    status_ = status;
    reason_ = reason;
    return false;
  }

  const Model& model_;
  const Request& request_;
  Controlled stepper_;
  Vector state_{};
  double clock_ = 0, length_ = 1e-3;
  std::size_t done_ = 0;  // times recorded
  long steps_ = 0;
  Status status_ = Status::converged;
  std::string reason_;
};

// The finer run's values with twice the difference to the coarser one as their error, but not less than
// `relative`: where both runs step from output to output they are the same run.
void merge(std::vector<Point>& fine, const std::vector<Point>& coarse, double relative) {
  for (std::size_t i = 0; i < fine.size(); ++i) {
    Point& a = fine[i];
    const Point& b = coarse[i];
    a.t_error = a.t == b.t ? 0.0 : 2 * std::abs(a.t - b.t) + relative * a.t;
    a.u_error = 2 * std::abs(a.u - b.u) + relative * a.u;
    a.beta_error = 2 * std::abs(a.beta - b.beta) + relative * a.beta;
    if (a.status == Status::converged && b.status != Status::converged) {
      a.status = b.status;
      a.reason = b.reason + " at the coarser tolerance";
    }
  }
}

}  // namespace

Trajectory integrate(const Model& model, const Request& request) {
  Invariant invariant(model);
  const double fine_tolerance = std::max(1e-4 * request.tolerance, 1e-14);
  Trajectory fine, coarse;
  std::vector<Target> targets = prepare(model, request, fine);
  Run(model, request, fine_tolerance).go(fine, targets);
  targets = prepare(model, request, coarse);
  Run(model, request, 20 * fine_tolerance).go(coarse, targets);
  auto finish = [&](std::vector<Point>& points, const std::vector<Point>& reference) {
    merge(points, reference, 4 * fine_tolerance);
    for (Point& point : points) complete(model, invariant, point.u - model.start.u, request.tolerance, point);
  };
  finish(fine.at_times, coarse.at_times);
  finish(fine.at_losses, coarse.at_losses);
  finish(fine.at_betas, coarse.at_betas);
  return fine;
}

}  // namespace qksolve::flow
