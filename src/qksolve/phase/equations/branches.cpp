#include "qksolve/phase/equations/branches.hpp"

#include <algorithm>
#include <cmath>

#include "qksolve/numerics/dense.hpp"
#include "qksolve/phase/equations/branch_map.hpp"
#include "qksolve/phase/equations/branch_overlaps.hpp"
#include "qksolve/phase/equations/stability.hpp"

namespace qksolve::phase {

using Eigen::MatrixXd;
using Eigen::VectorXd;

std::string status_name(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::iteration_limit:
      return "iteration_limit";
    case Status::branch_changed:
      return "branch_changed";
    case Status::non_finite:
      return "non_finite";
    case Status::interrupted:
      return "interrupted";
    case Status::failed:
      break;
  }
  return "failed";
}

namespace {

// Map evaluations for a last try next to where a branch ends: Newton's method needs a third of them if it is
// there.
constexpr int kLastTry = 100;
// Residuals below this at which a map is taken to be noisy where Newton steps, short ones, fail.
constexpr double kNoise = 1e-2;

}  // namespace

// One solve: the state that its stages share.
class BranchRun {
 public:
  BranchRun(const BranchSolver& solver, double alpha, const Branch& branch)
      : solver_(solver),
        options_(solver.options()),
        map_(solver, alpha, branch, options_.max_iterations),
        coordinates_(solver.model(), branch) {
    solution_.branch = branch;
    solution_.alpha = alpha;
  }

  BranchSolution run(const std::vector<Overlaps>& starts) {
    if (find(starts)) refine();
    const bool has_point = x_.size() > 0 && solution_.residual <= 10.0 * options_.tolerance;
    if (options_.stability && has_point && solution_.status != Status::branch_changed) stability();
    if (map_.interrupted()) {
      BranchSolution cut;
      cut.branch = solution_.branch;
      cut.alpha = solution_.alpha;
      cut.status = Status::interrupted;
      cut.reason = "interrupted";
      return cut;
    }
    solution_.map_evaluations = map_.evaluations();
    return solution_;
  }

 private:
  numerics::Map map_at(int level, int replicate) {
    return [this, level, replicate](const VectorXd& x, VectorXd& fx) {
      return map_.evaluate(coordinates_, x, level, replicate, fx);
    };
  }

  numerics::FixedPointResult solve_at(const Coordinates& coordinates, int level, const VectorXd& start,
                                      int max_evaluations) {
    numerics::FixedPointOptions options;
    options.method = options_.method;
    options.damping = options_.damping;
    options.tolerance = residual_tolerance();
    options.max_evaluations = std::max(1, std::min(max_evaluations, map_.left()));
    options.interrupted = [this] { return map_.interrupted(); };
    if (!options_.level) options.accept_noise = kNoise;
    const Branch sought = identify(coordinates.unpack(start));
    // An overlap that has vanished does not come back: informed starts lose it only where it decays. Plain
    // damped steps are left to themselves: where they are unstable they pass by zero.
    if (options_.method == numerics::FixedPointMethod::accelerated)
      options.abandon = [=, this, &coordinates](const VectorXd& x, const VectorXd& fx) {
        const Overlaps o = coordinates.unpack(x), next = coordinates.unpack(fx);
        ahead_ = map_.falls_to_zero(o, next, level) ? "zero" : branch_ahead(o, next).name;
        return ahead_ != sought.name;
      };
    auto observe = [&, level](const numerics::FixedPointStep& step) {
      const Overlaps o = coordinates.unpack(step.x);
      if (step.residual < slowest_residual_ && identify(o) == solution_.branch) {
        slowest_residual_ = step.residual;
        slowest_ = step.x;
      }
      if (options_.trace) solution_.trace.push_back({level, step.evaluations, step.residual, o});
    };
    auto scale = [&](const VectorXd& x) { return coordinates.scale(x); };
    const numerics::Map map = [&](const VectorXd& x, VectorXd& fx) {
      return map_.evaluate(coordinates, x, level, -1, fx);
    };
    return numerics::solve_fixed_point(map, scale, start, options, observe);
  }

  bool replicated() const { return solver_.quadrature().replicates > 1; }

  // For a deterministic rule small enough that even an eigenvalue of .99 of the map leaves an error below the
  // tolerance. The map of finitely many random points is itself discontinuous, at about this size: a first
  // fixed point need not be better, because each replicate's own is sought later and their spread is the
  // error.
  double residual_tolerance() const { return replicated() ? 3e-3 : 1e-3 * options_.tolerance; }

  // Finds the branch on the coarsest rule, or, near its end where the rule decides, on a finer one: beyond
  // the end iterations slow down where the branch would be, and there the finer rule begins. False: the
  // status says why not.
  bool find(const std::vector<Overlaps>& starts) {
    const bool one_try = options_.method == numerics::FixedPointMethod::damped || !options_.thorough;
    const std::vector<int> levels = options_.level ? std::vector<int>{*options_.level}
                                    : one_try      ? std::vector<int>{0}
                                                   : std::vector<int>{0, 1};
    std::string other_branch;
    bool evaluated = false, cut_short = false;
    for (const int level : levels) {
      std::vector<Overlaps> from = level > 0 && !options_.level ? std::vector{starts.front()} : starts;
      for (std::size_t k = 0; k < from.size() && !map_.exhausted(); ++k) {
        const bool again = !options_.level && level > 0 && slowest_.size() > 0;
        // Half of what is left, so that a start that leads nowhere leaves something to the others.
        const int allowed = again ? kLastTry : one_try ? map_.left() : (map_.left() + 1) / 2;
        const numerics::FixedPointResult result =
            solve_at(coordinates_, level, again ? slowest_ : coordinates_.pack(from[k]), allowed);
        if (map_.interrupted()) return false;
        evaluated = evaluated || std::isfinite(result.residual);
        cut_short =
            cut_short || (result.status == numerics::FixedPointStatus::iteration_limit && allowed < kLastTry);
        const Branch found = identify(coordinates_.unpack(result.x));
        if (result.status == numerics::FixedPointStatus::abandoned) {
          other_branch = ahead_ == "zero" ? ahead_ : follow(ahead_, result.x, level);
        } else if (result.status == numerics::FixedPointStatus::converged ||
                   result.status == numerics::FixedPointStatus::noise) {
          if (found == solution_.branch) {
            keep(result, level);
            return true;
          }
          other_branch = found.name;
        } else if (x_.size() == 0 || !std::isfinite(solution_.residual)) {
          keep(result, level);
          if (result.status == numerics::FixedPointStatus::non_finite && !map_.exhausted())
            fail(Status::non_finite, "the map cannot be evaluated near the start");
          else
            fail(Status::iteration_limit,
                 "the residual is above the tolerance after the allowed map evaluations");
        }
        if (one_try && evaluated) break;
        // Next to Q = 0 a label that does not leave a student there repels it: larger ones feel less of that.
        if (!evaluated && k + 1 == from.size() && from.back().q.trace() < 1e4 * starts.front().q.trace())
          from.push_back(enlarged(from.size() < 2 * starts.size() ? starts.front() : from.back()));
      }
    }
    if (other_branch.empty() || cut_short) return report_unrefined();
    solution_.branch_found = other_branch;
    return fail(Status::branch_changed, "the iteration leaves for another branch");
  }

  static Overlaps enlarged(Overlaps o) {
    o.q *= 4.0;
    o.theta *= 2.0;
    o.m *= 2.0;
    return o;
  }

  // The branch that an iteration reaches which left this one, at x, for `name`, if it does not grow on the
  // way.
  std::string follow(const std::string& name, const VectorXd& x, int level) {
    const Coordinates other(solver_.model(), branch_named(name));
    const VectorXd start = other.pack(coordinates_.unpack(x));
    VectorXd image(start.size());
    if (!map_.evaluate(other, start, level, -1, image)) return name;
    if (other.unpack(image).q.trace() >= other.unpack(start).q.trace()) return name;
    const numerics::FixedPointResult result = solve_at(other, level, start, map_.left() / 2);
    if (result.status == numerics::FixedPointStatus::abandoned) return ahead_;
    return name;
  }

  void keep(const numerics::FixedPointResult& result, int level) {
    x_ = result.x;
    jacobian_ = result.jacobian;
    solution_.residual = result.residual;
    solution_.level = level;
  }

  bool fail(Status status, const std::string& reason) {
    solution_.status = status;
    solution_.reason = reason;
    return false;
  }

  // The point reached without convergence, without errors.
  bool report_unrefined() {
    VectorXd fx;
    if (std::isfinite(solution_.residual) && map_.evaluate(coordinates_, x_, solution_.level, -1, fx))
      solution_.estimate = estimate_at(x_);
    return false;
  }

  // All reported values at x, from the moments of the last evaluation there.
  Estimate estimate_at(const VectorXd& x) {
    Estimate e;
    e.overlaps = coordinates_.unpack(x);
    e.train_loss = training_loss(solver_.model(), solution_.alpha, e.overlaps, map_.moments());
    e.envelope = expected_envelope(e.overlaps, map_.moments());
    const Quadrature& quadrature = solver_.quadrature();
    test_error_ = 0;
    e.generalization_error =
        quadrature.generalization_error
            ? quadrature.generalization_error(e.overlaps, 0.02 * options_.tolerance, test_error_)
            : map_.moments().test_loss;
    solution_.jump_mass = map_.moments().jump_mass;
    solution_.has_jump_mass = !replicated();
    return e;
  }

  VectorXd as_vector(const Estimate& e) const {
    VectorXd x = coordinates_.pack(e.overlaps), all(x.size() + 3);
    all << x, e.train_loss, e.generalization_error, e.envelope;
    return all;
  }

  void set_errors(const VectorXd& errors) {
    Estimate& e = solution_.estimate;
    const Eigen::Index n = errors.size() - 3;
    e.overlaps_error = coordinates_.unpack(errors.head(n));
    e.train_loss_error = errors[n];
    e.generalization_error_error = errors[n + 1];
    e.envelope_error = errors[n + 2];
    solution_.has_errors = true;
  }

  // Solves x = F(x) on a finer level from x with the known Jacobian, or from scratch where that fails. Where
  // the rule's own noise stops that, the step that is left is a part of the error.
  bool correct(int level, VectorXd& x) {
    if (options_.method == numerics::FixedPointMethod::accelerated && jacobian_.size() > 0 &&
        chord(level, 0, x, 0.03 * options_.tolerance))
      return true;
    if (map_.interrupted()) return false;
    remaining_step_.setZero(x.size());
    remaining_ = 0;
    const numerics::FixedPointResult result = solve_at(coordinates_, level, x, map_.left());
    if (map_.interrupted()) return false;
    if (result.jacobian.size() > 0) jacobian_ = result.jacobian;
    x = result.x;
    solution_.residual = result.residual;
    const bool noise = result.status == numerics::FixedPointStatus::noise;
    if (result.status != numerics::FixedPointStatus::converged && !noise)
      return fail(Status::iteration_limit, map_.exhausted()
                                               ? "the allowed map evaluations are used up"
                                               : "the residual is above the tolerance on a finer rule");
    VectorXd fx(x.size());
    if (!map_.evaluate(coordinates_, x, level, -1, fx))
      return map_.exhausted() ? fail(Status::iteration_limit, "the allowed map evaluations are used up")
                              : fail(Status::non_finite, "the map left its domain");
    if (noise) keep_step(numerics::solve(newton_system(), fx - x), x);
    return true;
  }

  MatrixXd newton_system() const {
    return MatrixXd::Identity(jacobian_.rows(), jacobian_.cols()) - jacobian_;
  }

  void keep_step(const VectorXd& step, const VectorXd& x) {
    remaining_step_ = step.cwiseAbs();
    remaining_ = numerics::residual_norm(step, coordinates_.scale(x));
  }

  // Newton steps with the Jacobian held fixed, while each reduces the residual. x becomes the last point
  // evaluated. True when the step that would follow, the distance to the fixed point, is below the tolerance;
  // it is kept, as a part of the error.
  bool chord(int level, int replicate, VectorXd& x, double tolerance) {
    const Eigen::Index n = x.size();
    const MatrixXd system = newton_system();
    VectorXd trial = x, fx(n);
    double last = HUGE_VAL;
    for (int iteration = 0; iteration < 12; ++iteration) {
      if (!map_.evaluate(coordinates_, trial, level, replicate, fx)) return false;
      const double norm = numerics::residual_norm(fx - trial, coordinates_.scale(trial));
      if (options_.trace)
        solution_.trace.push_back({level, map_.evaluations(), norm, coordinates_.unpack(trial)});
      x = trial;
      solution_.residual = norm;
      const VectorXd step = numerics::solve(system, fx - trial);
      remaining_ = numerics::residual_norm(step, coordinates_.scale(trial));
      if (remaining_ <= tolerance) {
        remaining_step_ = step.cwiseAbs();
        return true;
      }
      if (norm > 0.7 * last) return false;
      last = norm;
      trial += step;
    }
    return false;
  }

  void refine() {
    if (options_.level) {
      VectorXd fx;
      if (!map_.evaluate(coordinates_, x_, *options_.level, -1, fx))
        return void(fail(Status::iteration_limit, "the allowed map evaluations are used up"));
      solution_.estimate = estimate_at(x_);
      solution_.status = Status::converged;
    } else if (replicated()) {
      refine_replicates();
    } else {
      refine_levels();
    }
    if (solution_.status != Status::converged) return;
    const Branch found = identify(solution_.estimate.overlaps);
    if (found == solution_.branch) return;
    solution_.branch_found = found.name;
    fail(Status::branch_changed, "the branch vanishes on a finer rule");
  }

  bool accurate(const VectorXd& values, const VectorXd& errors) const {
    VectorXd sizes = values.cwiseAbs();
    const Eigen::Index n = coordinates_.size();
    sizes.head(n) = coordinates_.scale(values.head(n));
    return (errors.array() <= options_.tolerance * sizes.array()).all() &&
           solution_.residual <= options_.tolerance;
  }

  // Deterministic rules: the change from level to level bounds the error of the finer one.
  void refine_levels() {
    VectorXd last, last_change;
    for (int level = solution_.level; level < solver_.quadrature().levels; ++level) {
      if (!correct(level, x_)) return;
      solution_.level = level;
      solution_.estimate = estimate_at(x_);
      const VectorXd values = as_vector(solution_.estimate);
      if (last.size() > 0) {
        // The change bounds the error of the finer level when the next change is at most half of it; where
        // the singularity of a branch near its end slows the convergence down it is not, hence the factor.
        const VectorXd change = (values - last).cwiseAbs();
        VectorXd errors = 2.0 * change;
        if (last_change.size() > 0) errors = errors.cwiseMax(0.5 * last_change);
        // The step not made, by a Jacobian that is not quite that of this point, and, for what is a function
        // of the overlaps, its relative size.
        errors.head(remaining_step_.size()) += 2.0 * remaining_step_;
        errors.tail(3) += 2.0 * remaining_ * values.tail(3).cwiseAbs();
        errors[errors.size() - 2] += test_error_;
        set_errors(errors);
        if (last_change.size() > 0 && accurate(values, errors)) {
          solution_.status = Status::converged;
          solution_.reason.clear();
          return;
        }
        last_change = change;
      }
      last = values;
    }
    fail(Status::failed, "the estimated error is above the tolerance on the finest rule");
  }

  // Randomised rules: one fixed point for each replicate, mean and three standard errors over them. The steps
  // of a replicate end where the discontinuities of its own map stop them, and that is part of the spread.
  void refine_replicates() {
    const int replicates = solver_.quadrature().replicates;
    const Eigen::Index n = x_.size();
    if (jacobian_.size() == 0)
      jacobian_ = numerics::jacobian(map_at(0, -1), x_, coordinates_.scale(x_), 1e-2);
    if (jacobian_.size() == 0)
      return void(fail(Status::failed, "the map has no Jacobian at the fixed point"));
    for (int level = std::max(1, solution_.level); level < solver_.quadrature().levels; ++level) {
      std::vector<VectorXd> values;
      for (int k = 0; k < replicates; ++k) {
        VectorXd x = x_;
        chord(level, k, x, 0.01 * options_.tolerance);
        if (map_.interrupted()) return;
        if (map_.exhausted())
          return void(fail(Status::iteration_limit, "the allowed map evaluations are used up"));
        values.push_back(as_vector(estimate_at(x)));
      }
      VectorXd mean = VectorXd::Zero(n + 3), square = mean;
      for (const VectorXd& v : values) mean += v / replicates;
      for (const VectorXd& v : values) square += (v - mean).cwiseAbs2() / (replicates * (replicates - 1.0));
      const VectorXd errors = 3.0 * square.cwiseSqrt();
      x_ = mean.head(n);
      VectorXd fx(n);
      if (!map_.evaluate(coordinates_, x_, level, -1, fx))
        return void(map_.exhausted()
                        ? fail(Status::iteration_limit, "the allowed map evaluations are used up")
                        : fail(Status::non_finite, "the mean over replicates is outside the domain"));
      solution_.residual = numerics::residual_norm(fx - x_, coordinates_.scale(x_));
      solution_.level = level;
      solution_.estimate.overlaps = coordinates_.unpack(x_);
      solution_.estimate.train_loss = mean[n];
      solution_.estimate.generalization_error = mean[n + 1];
      solution_.estimate.envelope = mean[n + 2];
      set_errors(errors);
      if (accurate(mean, errors)) {
        solution_.status = Status::converged;
        solution_.reason.clear();
        return;
      }
    }
    fail(Status::failed, "the spread over replicates is above the tolerance on the finest rule");
  }

  void stability() {
    const int level = options_.level.value_or(options_.tolerance < 1e-3 ? 1 : 0);
    const auto found = estimate_spectrum(map_, solver_, solution_.branch, coordinates_.unpack(x_), level);
    if (!found) return;
    solution_.spectral_radius = Uncertain{found->value[0], found->error[0]};
    solution_.growth_theta = Uncertain{found->value[1], found->error[1]};
    solution_.growth_m = Uncertain{found->value[2], found->error[2]};
  }

  const BranchSolver& solver_;
  const SolveOptions& options_;
  BranchMap map_;
  Coordinates coordinates_;
  BranchSolution solution_;
  VectorXd x_, slowest_, remaining_step_;
  double slowest_residual_ = HUGE_VAL, remaining_ = 0;
  std::string ahead_;
  MatrixXd jacobian_;
  double test_error_ = 0;
};

BranchSolver::BranchSolver(Model model, Quadrature quadrature, SolveOptions options)
    : model_(std::move(model)), quadrature_(std::move(quadrature)), options_(options) {}

BranchSolution BranchSolver::solve(double alpha, const Branch& branch,
                                   const std::optional<Overlaps>& start) const {
  BranchRun run(*this, alpha, branch);
  return run.run(start ? std::vector<Overlaps>{*start} : default_starts(model_, alpha, branch));
}

}  // namespace qksolve::phase
