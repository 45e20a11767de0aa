#include "qksolve/numerics/fixed_point.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "qksolve/numerics/dense.hpp"

namespace qksolve::numerics {

using Eigen::MatrixXd;
using Eigen::VectorXd;

double residual_norm(const VectorXd& residual, const VectorXd& scale) {
  return residual.cwiseQuotient(scale).cwiseAbs().maxCoeff();
}

MatrixXd jacobian(const Map& map, const VectorXd& x, const VectorXd& scale, double step) {
  const Eigen::Index n = x.size();
  MatrixXd result(n, n);
  VectorXd centre(n), up(n), down(n);
  bool have_centre = false;
  for (Eigen::Index j = 0; j < n; ++j) {
    const double h = step * scale[j];
    VectorXd shifted = x;
    shifted[j] = x[j] + h;
    const bool has_up = map(shifted, up);
    shifted[j] = x[j] - h;
    const bool has_down = map(shifted, down);
    if (has_up && has_down) {
      result.col(j) = (up - down) / (2.0 * h);
      continue;
    }
    if (!have_centre) have_centre = map(x, centre);
    if (!have_centre || (!has_up && !has_down)) return {};
    result.col(j) = has_up ? VectorXd((up - centre) / h) : VectorXd((centre - down) / h);
  }
  return result;
}

namespace {

constexpr int kNewtonFailures = 3;
constexpr double kNoisySteps = 10.0;  // longest Newton step, in residuals, that fails for noise

struct Evaluated {
  VectorXd x, residual;  // residual = F(x) - x
  double norm = HUGE_VAL;
};

class Solver {
 public:
  Solver(const Map& map, const Scale& scale, const FixedPointOptions& options,
         const std::function<void(const FixedPointStep&)>& observe)
      : map_(map), scale_(scale), options_(options), observe_(observe), mixing_(1.0 - options.damping) {}

  FixedPointResult run(const VectorXd& start) {
    if (!evaluate(start, current_)) {
      result_.x = start;
      result_.status = stopped_ ? FixedPointStatus::interrupted : FixedPointStatus::non_finite;
      return result_;
    }
    accept(current_);
    const bool plain = options_.method == FixedPointMethod::damped;
    while (!(current_.norm <= options_.tolerance) && budget_left()) {
      bool moved = false;
      if (!plain && current_.norm < options_.start_newton) moved = newton_step();
      if (noisy()) break;
      if (!moved && !plain && current_.norm < options_.start_anderson) moved = anderson_step();
      if (!moved && budget_left()) moved = damped_step();
      if (!moved) break;
      if (options_.abandon && options_.abandon(current_.x, current_.x + current_.residual)) {
        result_.x = current_.x;
        result_.residual = current_.norm;
        result_.status = FixedPointStatus::abandoned;
        return result_;
      }
    }
    const Evaluated& last = plain ? current_ : best_;
    result_.x = last.x;
    result_.residual = last.norm;
    if (stopped_)
      result_.status = FixedPointStatus::interrupted;
    else if (last.norm <= options_.tolerance)
      result_.status = FixedPointStatus::converged;
    else if (noisy())
      result_.status = FixedPointStatus::noise;
    else
      result_.status = budget_left() ? FixedPointStatus::non_finite : FixedPointStatus::iteration_limit;
    return result_;
  }

 private:
  bool budget_left() const { return !stopped_ && result_.evaluations < options_.max_evaluations; }

  // Next to where a fixed point has ceased to exist Newton steps fail too, but there they are long.
  bool noisy() const {
    return newton_failures_ >= kNewtonFailures && best_.norm <= options_.accept_noise &&
           failed_step_ <= kNoisySteps;
  }

  bool ask(const VectorXd& x, VectorXd& fx) {
    stopped_ = stopped_ || (options_.interrupted && options_.interrupted());
    return !stopped_ && map_(x, fx);
  }

  bool evaluate(const VectorXd& x, Evaluated& out) {
    if (!budget_left()) return false;
    ++result_.evaluations;
    VectorXd fx(x.size());
    if (!x.allFinite() || !ask(x, fx) || !fx.allFinite()) return false;
    out = {x, fx - x, residual_norm(fx - x, scale_(x))};
    return std::isfinite(out.norm);
  }

  void accept(const Evaluated& point) {
    current_ = point;
    if (point.norm < best_.norm) best_ = point;
    history_.push_back(point);
    if (static_cast<int>(history_.size()) > options_.anderson_depth + 1) history_.pop_front();
    if (observe_) observe_({result_.evaluations, point.norm, point.x});
  }

  // Moves from the current point along `step`, halving while the map cannot be evaluated there.
  bool move(VectorXd step, Evaluated& out) {
    for (int halving = 0; halving < 30 && budget_left(); ++halving, step *= 0.5)
      if (evaluate(current_.x + step, out)) return true;
    return false;
  }

  bool damped_step() {
    Evaluated next;
    if (!move(mixing_ * current_.residual, next)) return false;
    // A residual that grows says that the weight of the new value is beyond the stability limit.
    if (options_.method == FixedPointMethod::accelerated)
      mixing_ = next.norm > 1.2 * current_.norm ? std::max(0.5 * mixing_, 0.01)
                                                : std::min(1.1 * mixing_, 1.0 - options_.damping);
    accept(next);
    return true;
  }

  // Anderson (1965) mixing with least squares over residual differences. Falls back to the best point, and to
  // damped steps from there, when the residual grows.
  bool anderson_step() {
    const Eigen::Index n = current_.x.size(), depth = static_cast<Eigen::Index>(history_.size()) - 1;
    if (depth < 1 || anderson_failures_ >= 2) return false;
    const VectorXd weight = scale_(current_.x).cwiseInverse();
    MatrixXd dx(n, depth), dr(n, depth);
    for (Eigen::Index k = 0; k < depth; ++k) {
      dx.col(k) = history_[k + 1].x - history_[k].x;
      dr.col(k) = history_[k + 1].residual - history_[k].residual;
    }
    const MatrixXd weighted = weight.asDiagonal() * dr;
    const VectorXd gamma = least_squares(weighted, weight.cwiseProduct(current_.residual), 1e-8);
    Evaluated next;
    if (!move(mixing_ * current_.residual - (dx + mixing_ * dr) * gamma, next)) return false;
    if (next.norm > 2.0 * best_.norm) {
      // Where a fixed point has just ceased to exist the residual has a minimum that would hold this method
      // captive: after a second failure only damped steps go on, which pass it by.
      ++anderson_failures_;
      current_ = best_;
      history_.clear();
      history_.push_back(best_);
      mixing_ = std::max(0.5 * mixing_, 0.01);
      return false;
    }
    accept(next);
    return true;
  }

  // Newton on F(x) - x; the Jacobian is kept while it reduces the residual fourfold per step.
  bool newton_step() {
    const Eigen::Index n = current_.x.size();
    if (newton_failures_ >= kNewtonFailures) return false;
    if (result_.jacobian.size() == 0 || stale_) {
      if (result_.evaluations + 2 * n + 1 > options_.max_evaluations) return false;
      const int before = result_.evaluations;
      // Where a step has failed the map may be noisy: differences over more of it.
      result_.jacobian = jacobian([this](const VectorXd& x, VectorXd& fx) { return ask(x, fx); }, current_.x,
                                  scale_(current_.x), newton_failures_ > 0 ? 1e-2 : 1e-3);
      result_.evaluations = before + 2 * static_cast<int>(n);
      if (result_.jacobian.size() == 0) return fail_newton();
      stale_ = false;
    }
    const MatrixXd system = MatrixXd::Identity(n, n) - result_.jacobian;
    const VectorXd step = solve(system, current_.residual);
    Evaluated next;
    if (!move(step, next)) return fail_newton();
    if (!(next.norm < current_.norm)) {
      failed_step_ = residual_norm(step, scale_(current_.x)) / current_.norm;
      stale_ = true;
      return fail_newton();
    }
    stale_ = next.norm > 0.25 * current_.norm;
    accept(next);
    return true;
  }

  bool fail_newton() {
    ++newton_failures_;
    return false;
  }

  const Map& map_;
  const Scale& scale_;
  const FixedPointOptions& options_;
  const std::function<void(const FixedPointStep&)>& observe_;
  Evaluated current_, best_;
  std::deque<Evaluated> history_;
  FixedPointResult result_;
  double mixing_;  // weight of the new value
  // Length, in units of the residual, of the last Newton step that did not reduce it.
  double failed_step_ = HUGE_VAL;
  bool stale_ = false, stopped_ = false;
  int newton_failures_ = 0, anderson_failures_ = 0;
};

}  // namespace

FixedPointResult solve_fixed_point(const Map& map, const Scale& scale, const VectorXd& start,
                                   const FixedPointOptions& options,
                                   const std::function<void(const FixedPointStep&)>& observe) {
  return Solver(map, scale, options, observe).run(start);
}

}  // namespace qksolve::numerics
