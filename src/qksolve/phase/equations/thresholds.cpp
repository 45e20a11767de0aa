#include "qksolve/phase/equations/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "qksolve/phase/equations/continuation.hpp"

namespace qksolve::phase {
namespace {

// Largest ratio of neighbouring alphas in the first scan.
constexpr double kScanRatio = 1.35;
constexpr int kMaxBisections = 40;

class Search {
 public:
  Search(const Model& model, const Quadrature& quadrature, const ThresholdOptions& options,
         const std::function<bool()>& interrupted)
      : options_(options),
        interrupted_(interrupted),
        // The coarsest level of a randomised rule, the mean over its randomisations, is fine enough.
        scan_level_(quadrature.replicates > 1 ? 0 : 1),
        solver_(model, quadrature, options.solve),
        coarse_(model, quadrature, coarse_options()) {
    solver_.set_interrupt(interrupted);
    coarse_.set_interrupt(interrupted);
    const double span = std::log(options.alpha_high / options.alpha_low);
    const int steps = std::max(1, static_cast<int>(std::ceil(span / std::log(kScanRatio))));
    for (int i = 0; i <= steps; ++i) alphas_.push_back(options.alpha_low * std::exp(span * i / steps));
    alphas_.back() = options.alpha_high;
  }

  std::vector<Threshold> find(const std::string& which) {
    if (which == "alpha_c") return {alpha_c()};
    if (which == "alpha_l") return {alpha_l()};
    const bool semantic = which.rfind("semantic", 0) == 0;
    const Branch& branch = semantic ? kSemantic : kPositional;
    return which.find("exists") != std::string::npos ? existence(which, branch) : stability(which, branch);
  }

 private:
  SolveOptions coarse_options() const {
    SolveOptions o = options_.solve;
    o.tolerance = 1e-3;
    o.level = scan_level_;
    o.max_iterations = 300;
    o.stability = false;
    return o;
  }

  // The scan of one branch: solutions on the grid.
  const std::vector<BranchSolution>& scan(const Branch& branch) {
    std::vector<BranchSolution>& solutions = scans_[branch.name];
    if (solutions.empty()) solutions = follow_branch(coarse_, branch, alphas_);
    return solutions;
  }

  static bool exists(const BranchSolution& s) { return s.status == Status::converged; }

  const BranchSolution& nearest(const Branch& branch, double alpha) {
    const auto& solutions = scan(branch);
    const BranchSolution* best = &solutions.front();
    for (const BranchSolution& s : solutions)
      if (exists(s) &&
          (!exists(*best) || std::abs(std::log(s.alpha / alpha)) < std::abs(std::log(best->alpha / alpha))))
        best = &s;
    return *best;
  }

  BranchSolution solve(const BranchSolver& solver, const Branch& branch, double alpha) {
    const BranchSolution& start = nearest(branch, alpha);
    if (exists(start)) {
      BranchSolution s = solver.solve(alpha, branch, start.estimate.overlaps);
      if (exists(s)) return s;
    }
    return solver.solve(alpha, branch);
  }

  BranchSolver with_options(const SolveOptions& options) const {
    BranchSolver solver(solver_.model(), solver_.quadrature(), options);
    solver.set_interrupt(interrupted_);
    return solver;
  }

  BranchSolver at_tolerance(double tolerance) const {
    BranchSolver solver = solver_;
    solver.set_tolerance(tolerance);
    return solver;
  }

  // f(alpha) with its error; nothing where it is not defined.
  struct Value {
    double f, error;
  };
  using Function = std::function<std::optional<Value>(double alpha, double tolerance)>;

  // Root of f between low and high, where it has opposite signs: false position (Illinois), then repeated
  // with tighter solves until the error of the root, error of f over slope, is small enough.
  Threshold root(const std::string& which, const Function& f, double low, double high, double f_low,
                 double f_high) {
    Threshold t;
    t.which = which;
    double tolerance = std::min(1e-3, options_.tolerance), side = 0;
    for (int iteration = 0; iteration < kMaxBisections; ++iteration) {
      double alpha = (low * f_high - high * f_low) / (f_high - f_low);
      if (!(alpha > low && alpha < high)) alpha = 0.5 * (low + high);
      const auto value = f(alpha, tolerance);
      if (!value) {
        t.status = ThresholdStatus::failed;
        t.reason = "a branch did not converge between the ends of the bracket";
        t.bracket_low = low;
        t.bracket_high = high;
        return t;
      }
      const double slope = std::abs(f_high - f_low) / (high - low);
      const double uncertainty = (value->error + std::abs(value->f)) / slope;
      if (uncertainty <= options_.tolerance * alpha ||
          std::abs(high - low) <= 1e-3 * options_.tolerance * alpha) {
        t.status = ThresholdStatus::converged;
        // One secant step more; the error still covers all of it.
        t.value = std::clamp(alpha - value->f * (high - low) / (f_high - f_low), low, high);
        t.error = uncertainty;
        return t;
      }
      if (std::abs(value->f) <= 2.0 * value->error) {
        // The sign is not certain: sharpen the solves before moving the bracket.
        if (tolerance <= 1e-8) break;
        tolerance *= 0.1;
        continue;
      }
      const bool same_as_low = (value->f < 0) == (f_low < 0);
      (same_as_low ? low : high) = alpha;
      (same_as_low ? f_low : f_high) = value->f;
      if (side == (same_as_low ? -1 : 1)) (same_as_low ? f_high : f_low) *= 0.5;
      side = same_as_low ? -1 : 1;
    }
    t.status = ThresholdStatus::failed;
    t.reason = "the error of the root stays above the tolerance";
    t.bracket_low = low;
    t.bracket_high = high;
    return t;
  }

  Function loss_difference(const Branch& one, const Branch& other) {
    return [this, one, other](double alpha, double tolerance) -> std::optional<Value> {
      const BranchSolver solver = at_tolerance(tolerance);
      const BranchSolution a = solve(solver, one, alpha), b = solve(solver, other, alpha);
      if (!exists(a) || !exists(b)) return std::nullopt;
      return Value{a.estimate.train_loss - b.estimate.train_loss,
                   a.estimate.train_loss_error + b.estimate.train_loss_error};
    };
  }

  // The branches that can be the minimum.
  std::vector<Branch> contenders() const {
    std::vector<Branch> all = all_branches(solver_.model().rank);
    std::erase(all, kUninformed);
    return all;
  }

  // Which of `branches` has the lowest training loss at a point of the scan; nothing where none exists.
  std::optional<Branch> lowest(const std::vector<Branch>& branches, std::size_t i) {
    std::optional<Branch> best;
    for (const Branch& branch : branches) {
      const BranchSolution& s = scan(branch)[i];
      if (exists(s) && (!best || s.estimate.train_loss < scan(*best)[i].estimate.train_loss)) best = branch;
    }
    return best;
  }

  static void add_ends(Threshold& t, double low, double high, std::optional<double> f_low,
                       std::optional<double> f_high) {
    t.status = ThresholdStatus::no_bracket;
    t.bracket_low = low;
    t.bracket_high = high;
    t.difference_low = f_low;
    t.difference_high = f_high;
  }

  // Where, between the points i and i + 1 of the scan, the training loss of `before`, the lower one at i, and
  // that of `after`, the lower one at i + 1, are equal.
  Threshold exchange(const Branch& before, const Branch& after, std::size_t i) {
    auto& known = exchanges_[before.name + after.name + std::to_string(i)];
    if (known) return *known;
    auto difference = [&](double alpha) -> std::optional<double> {
      const BranchSolution a = solve(coarse_, after, alpha), b = solve(coarse_, before, alpha);
      if (!exists(a) || !exists(b)) return std::nullopt;
      return a.estimate.train_loss - b.estimate.train_loss;
    };
    // Close in from both sides until both branches exist at both ends: a branch that ends inside the cell
    // has no crossing to offer beyond its end.
    double low = alphas_[i], high = alphas_[i + 1];
    auto f_low = difference(low), f_high = difference(high);
    for (int k = 0; k < kMaxBisections && (!f_low || !f_high); ++k) {
      const double middle = 0.5 * (low + high);
      const BranchSolution a = solve(coarse_, after, middle), b = solve(coarse_, before, middle);
      const bool below = !exists(a) || (exists(b) && a.estimate.train_loss > b.estimate.train_loss);
      std::optional<double> f;
      if (exists(a) && exists(b)) f = a.estimate.train_loss - b.estimate.train_loss;
      (below ? low : high) = middle;
      (below ? f_low : f_high) = f;
      if (high - low < 1e-6 * high) break;
    }
    if (f_low && f_high)
      return known.emplace(root("alpha_c", loss_difference(after, before), low, high, *f_low, *f_high));
    Threshold t;
    t.which = "alpha_c";
    t.reason = "one of the branches ends before their training losses cross";
    add_ends(t, low, high, f_low, f_high);
    return known.emplace(t);
  }

  Threshold alpha_c() {
    const Branch &above = options_.above, &below = options_.below;
    Threshold t;
    t.which = "alpha_c";
    auto difference = [&](std::size_t i) -> std::optional<double> {
      const BranchSolution &a = scan(above)[i], &b = scan(below)[i];
      if (!exists(a) || !exists(b)) return std::nullopt;
      return a.estimate.train_loss - b.estimate.train_loss;
    };
    t.reason = "the " + above.name + " and the " + below.name +
               " branch do not exchange their order in the searched range";
    add_ends(t, alphas_.front(), alphas_.back(), difference(0), difference(alphas_.size() - 1));
    for (std::size_t i = 0; i + 1 < alphas_.size(); ++i) {
      const auto low = lowest({above, below}, i), high = lowest({above, below}, i + 1);
      if (!low || !high || *low == *high) continue;
      t = exchange(*low, *high, i);
      if (t.status != ThresholdStatus::no_bracket) break;
    }
    return t;
  }

  Threshold alpha_l() {
    Threshold t;
    t.which = "alpha_l";
    const double baseline = solver_.quadrature().linear_baseline;
    auto excess = [&](std::size_t i) -> std::optional<double> {
      const auto best = lowest(contenders(), i);
      if (!best) return std::nullopt;
      return scan(*best)[i].estimate.generalization_error - baseline;
    };
    t.reason =
        "the test error of the optimal branch does not cross the linear baseline in the searched range";
    add_ends(t, alphas_.front(), alphas_.back(), excess(0), excess(alphas_.size() - 1));
    for (std::size_t i = 0; i + 1 < alphas_.size(); ++i) {
      const auto f_low = excess(i), f_high = excess(i + 1);
      if (!f_low || !f_high || (*f_low < 0) == (*f_high < 0)) continue;
      const Branch before = *lowest(contenders(), i), after = *lowest(contenders(), i + 1);
      if (before == after) return branch_crossing(before, alphas_[i], alphas_[i + 1], *f_low, *f_high);
      // The optimal branch changes inside the cell: see what both do where it does.
      const Threshold crossing = exchange(before, after, i);
      if (!crossing.value) {
        t.reason = "the optimal branch changes, and it is not known where: " + crossing.reason;
        return t;
      }
      const double at = *crossing.value;
      const BranchSolver solver = at_tolerance(std::min(1e-3, options_.tolerance));
      const BranchSolution a = solve(solver, before, at), b = solve(solver, after, at);
      if (!exists(a) || !exists(b)) continue;
      const double f_before = a.estimate.generalization_error - baseline;
      const double f_after = b.estimate.generalization_error - baseline;
      if ((f_before < 0) != (*f_low < 0)) return branch_crossing(before, alphas_[i], at, *f_low, f_before);
      if ((f_after < 0) != (*f_high < 0)) return branch_crossing(after, at, alphas_[i + 1], f_after, *f_high);
      t = crossing;
      t.which = "alpha_l";
      t.branch = "both";
      return t;
    }
    return t;
  }

  Threshold branch_crossing(const Branch& branch, double low, double high, double f_low, double f_high) {
    const double baseline = solver_.quadrature().linear_baseline;
    const Function f = [&](double alpha, double tolerance) -> std::optional<Value> {
      const BranchSolution s = solve(at_tolerance(tolerance), branch, alpha);
      if (!exists(s)) return std::nullopt;
      return Value{s.estimate.generalization_error - baseline,
                   s.estimate.generalization_error_error + solver_.quadrature().linear_baseline_error};
    };
    Threshold t = root("alpha_l", f, low, high, f_low, f_high);
    t.branch = branch.name;
    return t;
  }

  static double order_parameter(const Branch& branch, const BranchSolution& s) {
    if (!exists(s)) return 0.0;
    return (branch.theta ? s.estimate.overlaps.theta : s.estimate.overlaps.m).norm();
  }

  // Bisection on existence, each try started from the last point that exists; on two levels of the
  // quadrature, whose difference is part of the error.
  std::vector<Threshold> existence(const std::string& which, const Branch& branch) {
    const auto& solutions = scan(branch);
    std::vector<Threshold> found;
    for (std::size_t i = 0; i + 1 < solutions.size(); ++i) {
      if (exists(solutions[i]) == exists(solutions[i + 1])) continue;
      const bool lower_limit = exists(solutions[i + 1]);
      auto bisect = [&](int level) {
        SolveOptions o = coarse_options();
        o.level = level;
        const BranchSolver solver = with_options(o);
        BranchSolution inside = solutions[lower_limit ? i + 1 : i];
        double outside = alphas_[lower_limit ? i : i + 1];
        while (std::abs(inside.alpha - outside) > 0.25 * options_.tolerance * inside.alpha) {
          const double middle = 0.5 * (inside.alpha + outside);
          const BranchSolution s = solver.solve(middle, branch, inside.estimate.overlaps);
          if (exists(s))
            inside = s;
          else
            outside = middle;
        }
        return std::pair(0.5 * (inside.alpha + outside), 0.5 * std::abs(inside.alpha - outside));
      };
      const auto [coarse, unused] = bisect(scan_level_);
      const auto [fine, half_width] = bisect(scan_level_ + 1);
      Threshold t;
      t.which = which;
      t.value = fine;
      t.error = half_width + std::abs(fine - coarse);
      t.limit = lower_limit ? "lower" : "upper";
      t.status = *t.error <= options_.tolerance * fine ? ThresholdStatus::converged : ThresholdStatus::failed;
      if (t.status == ThresholdStatus::failed) t.reason = "the error stays above the tolerance";
      found.push_back(t);
    }
    if (found.empty()) {
      Threshold t;
      t.which = which;
      t.reason = exists(solutions.front()) ? "the branch exists in the whole searched range"
                                           : "the branch does not exist in the searched range";
      add_ends(t, alphas_.front(), alphas_.back(), order_parameter(branch, solutions.front()),
               order_parameter(branch, solutions.back()));
      found.push_back(t);
    }
    return found;
  }

  std::vector<Threshold> stability(const std::string& which, const Branch& branch) {
    const auto& solutions = scan(branch);
    // growth - 1 of the most unstable sector at one level of the quadrature.
    auto growth = [&](double alpha, int level) -> std::optional<double> {
      SolveOptions o = coarse_options();
      o.level = level;
      o.stability = true;
      const BranchSolution s = solve(with_options(o), branch, alpha);
      if (!exists(s) || !s.growth_theta) return std::nullopt;
      return std::max(s.growth_theta->value, s.growth_m->value) - 1.0;
    };
    std::vector<std::optional<double>> values;
    for (std::size_t i = 0; i < solutions.size(); ++i)
      values.push_back(exists(solutions[i]) ? growth(alphas_[i], scan_level_) : std::nullopt);
    std::vector<Threshold> found;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      if (!values[i] || !values[i + 1] || (*values[i] < 0) == (*values[i + 1] < 0)) continue;
      // The same function on two levels: their difference is the error of the finer one.
      const Function f = [&](double alpha, double tolerance) -> std::optional<Value> {
        const int level =
            std::clamp(scan_level_ + 1 + static_cast<int>(std::lround(std::log10(1e-3 / tolerance))), 2, 5);
        const auto fine = growth(alpha, level), coarse = growth(alpha, level - 1);
        if (!fine || !coarse) return std::nullopt;
        return Value{*fine, std::abs(*fine - *coarse)};
      };
      Threshold t = root(which, f, alphas_[i], alphas_[i + 1], *values[i], *values[i + 1]);
      t.limit = *values[i + 1] < 0 ? "lower" : "upper";
      found.push_back(t);
    }
    if (found.empty()) {
      Threshold t;
      t.which = which;
      t.reason = "the stability of the branch does not change where it exists in the searched range";
      add_ends(t, alphas_.front(), alphas_.back(), values.front(), values.back());
      found.push_back(t);
    }
    return found;
  }

  const ThresholdOptions& options_;
  const std::function<bool()>& interrupted_;
  int scan_level_;
  BranchSolver solver_, coarse_;
  std::vector<double> alphas_;
  std::map<std::string, std::vector<BranchSolution>> scans_;
  std::map<std::string, std::optional<Threshold>> exchanges_;
};

}  // namespace

const std::vector<std::string>& threshold_names() {
  static const std::vector<std::string> names{"alpha_c",           "alpha_l",         "semantic_exists",
                                              "positional_exists", "semantic_stable", "positional_stable"};
  return names;
}

std::vector<Threshold> find_thresholds(const Model& model, const Quadrature& quadrature,
                                       const ThresholdOptions& options, const std::vector<std::string>& which,
                                       const std::function<bool()>& interrupted) {
  ThresholdOptions own = options;
  own.solve.stability = false;
  Search search(model, quadrature, own, interrupted);
  std::vector<Threshold> all;
  for (const std::string& name : which)
    for (const Threshold& t : search.find(name)) all.push_back(t);
  return all;
}

}  // namespace qksolve::phase
