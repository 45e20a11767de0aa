// Branches of fixed points of the state evolution, solved to a stated accuracy.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qksolve/numerics/fixed_point.hpp"
#include "qksolve/phase/equations/state_evolution.hpp"

namespace qksolve::phase {

// A branch is named by the overlaps that do not vanish on it.
struct Branch {
  std::string name;
  bool theta = false;  // semantic overlap with the teacher
  bool m = false;      // positional overlap with the encodings
  bool operator==(const Branch&) const = default;
};
inline const Branch kSemantic{"semantic", true, false};
inline const Branch kPositional{"positional", false, true};
inline const Branch kUninformed{"uninformed", false, false};
inline const Branch kMixed{"mixed", true, true};
// All branches of a model: the first three, and at rank >= 2, where each overlap can have a column of its
// own, the mixed one.
std::vector<Branch> all_branches(int rank);
// Throws std::invalid_argument for a name that is none of these.
Branch branch_named(const std::string& name);

// interrupted: the caller asked to stop; nothing else of such a solution means anything.
enum class Status { converged, iteration_limit, branch_changed, non_finite, failed, interrupted };
std::string status_name(Status status);

struct SolveOptions {
  double tolerance = 1e-4;  // relative, on residual and error of every reported quantity; in [1e-8, 0.1]
  numerics::FixedPointMethod method = numerics::FixedPointMethod::accelerated;
  double damping = 0.8;  // weight of the old value, in [0, 1)
  // Map evaluations of one solve in all: starts, levels and stability. Those of a randomised rule are over
  // all its replicates.
  int max_iterations = 1000;
  Response response = Response::total;
  std::optional<int> level;  // stay on this level of the quadrature and estimate no errors
  bool thorough = true;      // try all starts, and a finer rule, before a branch is called absent
  bool stability = true;
  bool trace = false;
};

// Values with their estimated errors; overlaps in the units of the theory.
struct Estimate {
  Overlaps overlaps, overlaps_error;
  double train_loss = 0, train_loss_error = 0;
  double generalization_error = 0, generalization_error_error = 0;
  double envelope = 0,
         envelope_error = 0;  // expected Moreau envelope = d train_loss/d alpha along the branch
};

// A number with its estimated error.
struct Uncertain {
  double value = 0, error = 0;
};

struct TraceStep {
  int level, evaluations;
  double residual;
  Overlaps overlaps;
};

struct BranchSolution {
  Branch branch;
  double alpha = 0;
  Status status = Status::failed;
  std::string reason;        // why not converged
  std::string branch_found;  // for branch_changed; "zero" where the iteration goes to Q = 0
  Estimate estimate;         // errors are meaningful where `has_errors`
  bool has_errors = false;
  double residual = 0;  // largest relative |F(x) - x| of the undamped map at the reported point
  int map_evaluations = 0;
  int level = 0;  // of the quadrature, at the reported point
  double jump_mass = 0;
  bool has_jump_mass = false;
  // Of the Jacobian of the undamped map with all overlaps free. The signs of theta and m split it into
  // sectors; the fixed point is unstable in a sector with an eigenvalue whose real part, its growth, is
  // above 1. For a branch without theta (m), growth_theta (growth_m) tells whether that overlap switches on.
  // Errors: from the next level of a deterministic rule with twice the step, from the replicates of another.
  std::optional<Uncertain> spectral_radius, growth_theta, growth_m;
  std::vector<TraceStep> trace;
};

// Solves branches of one model with one quadrature.
class BranchSolver {
 public:
  BranchSolver(Model model, Quadrature quadrature, SolveOptions options);

  // alpha > 0. Starts from `start` if given (overlaps that the branch holds at zero are set to zero), else
  // from the branch's own informed starts. If the interrupt returns true the solve ends as interrupted.
  BranchSolution solve(double alpha, const Branch& branch, const std::optional<Overlaps>& start = {}) const;

  const Model& model() const { return model_; }
  const Quadrature& quadrature() const { return quadrature_; }
  const SolveOptions& options() const { return options_; }
  void set_tolerance(double tolerance) { options_.tolerance = tolerance; }
  void set_thorough(bool thorough) { options_.thorough = thorough; }
  void set_interrupt(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }
  const std::function<bool()>& interrupt() const { return interrupted_; }

 private:
  Model model_;
  Quadrature quadrature_;
  SolveOptions options_;
  std::function<bool()> interrupted_;
};

}  // namespace qksolve::phase
