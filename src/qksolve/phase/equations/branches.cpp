#include "qksolve/phase/equations/branches.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "qksolve/numerics/dense.hpp"
#include "qksolve/phase/equations/branch_overlaps.hpp"

namespace qksolve::phase {

using Eigen::MatrixXd;
using Eigen::VectorXd;

std::vector<Branch> all_branches(int rank) {
  std::vector<Branch> all{kSemantic, kPositional, kUninformed};
  if (rank > 1) all.push_back(kMixed);
  return all;
}

Branch branch_named(const std::string& name) {
  for (const Branch& branch : {kSemantic, kPositional, kUninformed, kMixed})
    if (branch.name == name) return branch;
  throw std::invalid_argument("no branch is called '" + name + "'");
}

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
    case Status::failed:
      break;
  }
  return "failed";
}

namespace {

// Map evaluations for a last try next to where a branch ends: Newton's method needs a third of them if it is
// there.
constexpr int kLastTry = 100;

}  // namespace

// One solve: the state that its stages share.
class BranchRun {
 public:
  BranchRun(const BranchSolver& solver, double alpha, const Branch& branch)
      : solver_(solver),
        options_(solver.options_),
        layout_(solver.model_, branch),
        coordinates_(solver.model_, branch) {
    solution_.branch = branch;
    solution_.alpha = alpha;
  }

  BranchSolution run(const std::vector<Overlaps>& starts) {
    if (find(starts)) refine();
    const bool has_point = x_.size() > 0 && solution_.residual <= 10.0 * options_.tolerance;
    if (options_.stability && has_point && solution_.status != Status::branch_changed && !interrupted())
      stability();
    return solution_;
  }

 private:
  bool interrupted() const { return solver_.interrupted_ && solver_.interrupted_(); }

  // F on the branch at one level of the quadrature; replicate -1: the mean over all of them.
  bool evaluate(const Coordinates& coordinates, const VectorXd& x, int level, int replicate, VectorXd& fx,
                bool gauge = true) {
    const Overlaps o = coordinates.unpack(x);
    if (!admissible(o) || o.q.trace() > largest_norm() || interrupted()) return false;
    ++solution_.map_evaluations;
    moments_ = expectation(o, level, replicate);
    const auto next = update(solver_.model_, solution_.alpha, o, moments_, options_.response);
    if (!next) return false;
    fx = coordinates.pack(gauge && layout_.m_columns > 1 ? fix_gauge(*next) : *next);
    return fx.allFinite();
  }

  // Several encodings share columns: the rotation in which the j-th has no part in later columns than the
  // j-th.
  Overlaps fix_gauge(const Overlaps& o) const {
    const int columns = layout_.m_columns;
    const numerics::Qr qr = numerics::householder_qr(o.m.topRows(columns));
    MatrixXd rotation = MatrixXd::Identity(o.q.rows(), o.q.rows());
    rotation.topLeftCorner(columns, columns) = qr.Q;
    for (int k = 0; k < columns; ++k)
      if (qr.R(k, k) < 0) rotation.col(k) *= -1.0;
    return {rotation.transpose() * o.q * rotation, rotation.transpose() * o.theta, rotation.transpose() * o.m,
            rotation.transpose() * o.V * rotation};
  }

  // Whether the student is as good as Q = 0, which is the minimum where the penalty outweighs what the data
  // can teach: its attention is uniform to all digits. Of few samples a student learns little, hence alpha.
  bool collapsed(const Overlaps& o) const {
    const double sigma = solver_.model_.sigma.maxCoeff();
    const double preactivation = sigma * sigma * o.q.trace() + o.m.squaredNorm();
    return preactivation < 1e-12 * std::min(1.0, solution_.alpha);
  }

  // A minimiser has a lower risk than Q = 0, which bounds its norm; the factor leaves room for other fixed
  // points.
  double largest_norm() const {
    const Model& model = solver_.model_;
    const double sigma = model.sigma.maxCoeff();
    return 4.0 * solution_.alpha * sigma * sigma * (model.tokens - 1) / model.lambda + 2.0 * model.rank;
  }

  Moments expectation(const Overlaps& o, int level, int replicate) const {
    const Quadrature& quadrature = solver_.quadrature_;
    if (replicate >= 0) return quadrature.evaluate(o, level, replicate);
    Moments mean = quadrature.evaluate(o, level, 0);
    for (int k = 1; k < quadrature.replicates; ++k) mean += quadrature.evaluate(o, level, k);
    mean *= 1.0 / quadrature.replicates;
    return mean;
  }

  numerics::Map map_at(int level, int replicate) {
    return [this, level, replicate](const VectorXd& x, VectorXd& fx) {
      return evaluate(coordinates_, x, level, replicate, fx);
    };
  }

  numerics::FixedPointResult solve_at(int level, int replicate, const VectorXd& start, double damping,
                                      int max_evaluations) {
    numerics::FixedPointOptions options;
    options.method = options_.method;
    options.damping = damping;
    options.tolerance = residual_tolerance();
    options.max_evaluations = max_evaluations;
    // An overlap that has vanished does not come back: informed starts lose it only where it decays. Plain
    // damped steps are left to themselves: where they are unstable they pass by zero.
    if (options_.method == numerics::FixedPointMethod::accelerated)
      options.abandon = [this](const VectorXd& x, const VectorXd& fx) {
        const Overlaps o = coordinates_.unpack(x);
        ahead_ = collapsed(o) ? "zero" : branch_ahead(o, coordinates_.unpack(fx)).name;
        return ahead_ != solution_.branch.name;
      };
    auto observe = [this, level](const numerics::FixedPointStep& step) {
      if (step.residual < slowest_residual_ && identify(coordinates_.unpack(step.x)) == solution_.branch) {
        slowest_residual_ = step.residual;
        slowest_ = step.x;
      }
      if (options_.trace)
        solution_.trace.push_back({level, step.evaluations, step.residual, coordinates_.unpack(step.x)});
    };
    auto scale = [this](const VectorXd& x) { return coordinates_.scale(x); };
    return numerics::solve_fixed_point(map_at(level, replicate), scale, start, options, observe);
  }

  bool replicated() const { return solver_.quadrature_.replicates > 1; }

  // For a deterministic rule small enough that even an eigenvalue of .99 of the map leaves an error below the
  // tolerance. The map of finitely many random points is itself discontinuous, at about this size: a first
  // fixed point need not be better, because each replicate's own is sought later and their spread is the
  // error.
  double residual_tolerance() const { return replicated() ? 3e-3 : 1e-3 * options_.tolerance; }

  // Finds the branch on the coarsest rule, or, near its end where the rule decides, on a finer one: beyond
  // the end iterations slow down where the branch would be, and there the finer rule begins. False: the
  // status says why not.
  bool find(const std::vector<Overlaps>& starts) {
    const std::vector<int> levels =
        options_.level ? std::vector<int>{*options_.level} : std::vector<int>{0, 1};
    std::string other_branch;
    for (const int level : levels) {
      const std::size_t tries = !options_.level && level == 0 ? starts.size() : 1;
      for (std::size_t k = 0; k < tries; ++k) {
        const bool again = !options_.level && level > 0 && slowest_.size() > 0;
        const numerics::FixedPointResult result =
            again
                ? solve_at(level, -1, slowest_, options_.damping, std::min(kLastTry, options_.max_iterations))
                : solve_at(level, -1, coordinates_.pack(starts[k]), options_.damping,
                           options_.max_iterations);
        if (interrupted()) return fail(Status::iteration_limit, "interrupted");
        const Branch found = identify(coordinates_.unpack(result.x));
        if (result.status == numerics::FixedPointStatus::abandoned) {
          other_branch = ahead_;
        } else if (result.status == numerics::FixedPointStatus::converged) {
          if (found == solution_.branch) {
            keep(result, level);
            return true;
          }
          other_branch = found.name;
        } else if (x_.size() == 0) {
          keep(result, level);
          if (result.status == numerics::FixedPointStatus::non_finite)
            fail(Status::non_finite, "the map cannot be evaluated near the start");
          else
            fail(Status::iteration_limit,
                 "the residual is above the tolerance after the allowed map evaluations");
        }
        if (options_.method == numerics::FixedPointMethod::damped || !options_.thorough) break;
      }
      if (!options_.thorough) break;
    }
    if (other_branch.empty()) return report_unrefined();
    solution_.branch_found = other_branch;
    return fail(Status::branch_changed, "the iteration leaves for another branch");
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
    if (std::isfinite(solution_.residual) && evaluate(coordinates_, x_, solution_.level, -1, fx))
      solution_.estimate = estimate_at(x_);
    return false;
  }

  // All reported values at x, from the moments of the last evaluation there.
  Estimate estimate_at(const VectorXd& x) {
    Estimate e;
    e.overlaps = coordinates_.unpack(x);
    e.train_loss = training_loss(solver_.model_, solution_.alpha, e.overlaps, moments_);
    e.envelope = expected_envelope(e.overlaps, moments_);
    const Quadrature& quadrature = solver_.quadrature_;
    test_error_ = 0;
    e.generalization_error =
        quadrature.generalization_error
            ? quadrature.generalization_error(e.overlaps, 0.02 * options_.tolerance, test_error_)
            : moments_.test_loss;
    solution_.jump_mass = moments_.jump_mass;
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

  // Solves x = F(x) on a finer level from x with the known Jacobian, or from scratch where that fails.
  bool correct(int level, VectorXd& x) {
    if (options_.method == numerics::FixedPointMethod::accelerated && jacobian_.size() > 0 &&
        chord(level, 0, x, 0.03 * options_.tolerance))
      return true;
    remaining_step_.setZero(x.size());
    remaining_ = 0;
    numerics::FixedPointResult result = solve_at(level, -1, x, options_.damping, options_.max_iterations);
    if (result.jacobian.size() > 0) jacobian_ = result.jacobian;
    x = result.x;
    solution_.residual = result.residual;
    if (interrupted()) return fail(Status::iteration_limit, "interrupted");
    if (result.status != numerics::FixedPointStatus::converged)
      return fail(Status::iteration_limit, "the residual is above the tolerance on a finer rule");
    VectorXd fx(x.size());
    return evaluate(coordinates_, x, level, -1, fx) || fail(Status::non_finite, "the map left its domain");
  }

  // Newton steps with the Jacobian held fixed, while each reduces the residual. x becomes the last point
  // evaluated. True when the step that would follow, the distance to the fixed point, is below the tolerance;
  // it is kept, as a part of the error.
  bool chord(int level, int replicate, VectorXd& x, double tolerance) {
    const Eigen::Index n = x.size();
    const MatrixXd system = MatrixXd::Identity(n, n) - jacobian_;
    VectorXd trial = x, fx(n);
    double last = HUGE_VAL;
    for (int iteration = 0; iteration < 12; ++iteration) {
      if (!evaluate(coordinates_, trial, level, replicate, fx)) return false;
      const double norm = numerics::residual_norm(fx - trial, coordinates_.scale(trial));
      if (options_.trace)
        solution_.trace.push_back({level, solution_.map_evaluations, norm, coordinates_.unpack(trial)});
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
      if (!evaluate(coordinates_, x_, *options_.level, -1, fx))
        return void(fail(Status::non_finite, "interrupted"));
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
    for (int level = solution_.level; level < solver_.quadrature_.levels; ++level) {
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
    const int replicates = solver_.quadrature_.replicates;
    const Eigen::Index n = x_.size();
    if (jacobian_.size() == 0)
      jacobian_ = numerics::jacobian(map_at(0, -1), x_, coordinates_.scale(x_), 1e-2);
    if (jacobian_.size() == 0)
      return void(fail(Status::failed, "the map has no Jacobian at the fixed point"));
    for (int level = std::max(1, solution_.level); level < solver_.quadrature_.levels; ++level) {
      std::vector<VectorXd> values;
      for (int k = 0; k < replicates; ++k) {
        VectorXd x = x_;
        chord(level, k, x, 0.01 * options_.tolerance);
        if (interrupted()) return void(fail(Status::iteration_limit, "interrupted"));
        values.push_back(as_vector(estimate_at(x)));
      }
      VectorXd mean = VectorXd::Zero(n + 3), square = mean;
      for (const VectorXd& v : values) mean += v / replicates;
      for (const VectorXd& v : values) square += (v - mean).cwiseAbs2() / (replicates * (replicates - 1.0));
      const VectorXd errors = 3.0 * square.cwiseSqrt();
      x_ = mean.head(n);
      VectorXd fx(n);
      if (!evaluate(coordinates_, x_, level, -1, fx))
        return void(fail(Status::non_finite, "the mean over replicates is outside the domain"));
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

  // Eigenvalues of the Jacobian with all overlaps free, and by the sectors that the signs of theta and m
  // separate.
  void stability() {
    const Coordinates all(solver_.model_);
    const Overlaps o = coordinates_.unpack(x_);
    const VectorXd x = all.pack(o);
    const int level = options_.level.value_or(options_.tolerance < 1e-3 ? 1 : 0);
    const numerics::Map map = [&](const VectorXd& at, VectorXd& fx) {
      return evaluate(all, at, level, -1, fx, false);
    };
    VectorXd scale = all.scale(x);
    // A derivative in an overlap that is switched off needs a step that is not lost in the quadrature's
    // error.
    const double norm = std::sqrt(o.q.trace());
    for (Eigen::Index i = 0; i < scale.size(); ++i)
      if (all.is_theta(i) || all.is_m(i)) scale[i] = std::max(scale[i], norm);
    MatrixXd j = numerics::jacobian(map, x, scale, 2e-3);
    if (j.size() == 0 || !j.allFinite()) return;
    project_out_rotations(all, o, scale, j);

    solution_.spectral_radius = numerics::eigenvalues(j).cwiseAbs().maxCoeff();
    auto growth = [&](bool with_theta, bool with_m, bool with_rest) {
      std::vector<Eigen::Index> kept;
      for (Eigen::Index i = 0; i < j.rows(); ++i)
        if (all.is_theta(i) ? with_theta : all.is_m(i) ? with_m : with_rest) kept.push_back(i);
      return numerics::eigenvalues(j(kept, kept)).real().maxCoeff();
    };
    const Branch& b = solution_.branch;
    solution_.growth_theta = growth(true, b.theta && b.m, b.theta);
    solution_.growth_m = growth(b.theta && b.m, true, b.m);
  }

  // Rotations of the columns of Q, and of the teacher's, lead from a fixed point to others that are the same
  // student: they are eigenvectors of the Jacobian j with eigenvalue 1, which say nothing of stability. Makes
  // these eigenvalues 0 and leaves the others.
  void project_out_rotations(const Coordinates& all, const Overlaps& o, const VectorXd& scale,
                             MatrixXd& j) const {
    std::vector<VectorXd> tangents;
    const auto generator = [](Eigen::Index n, Eigen::Index a, Eigen::Index b) {
      MatrixXd k = MatrixXd::Zero(n, n);
      k(a, b) = 1.0;
      k(b, a) = -1.0;
      return k;
    };
    for (Eigen::Index b = 1; b < o.q.rows(); ++b)
      for (Eigen::Index a = 0; a < b; ++a) {
        const MatrixXd k = generator(o.q.rows(), a, b);
        tangents.push_back(
            all.pack({o.q * k - k * o.q, k.transpose() * o.theta, k.transpose() * o.m, o.V * k - k * o.V}));
      }
    for (Eigen::Index b = 1; b < o.theta.cols(); ++b)
      for (Eigen::Index a = 0; a < b; ++a)
        tangents.push_back(
            all.pack({MatrixXd::Zero(o.q.rows(), o.q.rows()), o.theta * generator(o.theta.cols(), a, b),
                      MatrixXd::Zero(o.m.rows(), o.m.cols()), MatrixXd::Zero(o.q.rows(), o.q.rows())}));
    if (tangents.empty()) return;
    // Gram-Schmidt in units of the scales; rotations that move nothing drop out.
    j = scale.cwiseInverse().asDiagonal() * j * scale.asDiagonal();
    std::vector<VectorXd> basis;
    for (VectorXd t : tangents) {
      t = t.cwiseQuotient(scale);
      for (const VectorXd& e : basis) t -= e.dot(t) * e;
      if (t.norm() > 1e-6) basis.push_back(t.normalized());
    }
    const MatrixXd identity = MatrixXd::Identity(j.rows(), j.cols());
    for (const VectorXd& e : basis) {
      const MatrixXd p = identity - e * e.transpose();
      j = p * j * p;
    }
  }

  const BranchSolver& solver_;
  const SolveOptions& options_;
  Layout layout_;
  Coordinates coordinates_;
  BranchSolution solution_;
  VectorXd x_, slowest_, remaining_step_;
  double slowest_residual_ = HUGE_VAL, remaining_ = 0;
  std::string ahead_;
  MatrixXd jacobian_;
  Moments moments_;
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
