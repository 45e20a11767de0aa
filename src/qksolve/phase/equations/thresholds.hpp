// Thresholds in alpha at fixed omega: where branches exchange energies, beat the linear baseline, appear or
// lose stability.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qksolve/phase/equations/branches.hpp"

namespace qksolve::phase {

struct ThresholdOptions {
  double alpha_low = 0.05, alpha_high = 10.0;     // searched range, 0 < low < high
  double tolerance = 1e-3;                        // on value_error relative to value, in [1e-6, 0.1]
  SolveOptions solve;                             // method, damping, response; its tolerance is chosen here
  Branch above = kSemantic, below = kPositional;  // alpha_c: where their training losses are equal
};

enum class ThresholdStatus { converged, no_bracket, failed };

struct Threshold {
  std::string which;
  ThresholdStatus status = ThresholdStatus::no_bracket;
  std::string reason;                  // why not converged
  std::optional<double> value, error;  // alpha and its error
  std::string
      branch;  // alpha_l: the branch that is globally optimal there, or "both" where two exchange order
  std::string limit;  // exists/stable: "lower" when the branch exists (is stable) above the value
  // no_bracket: the ends of the range that was searched and the sought difference there, where it is known.
  std::optional<double> bracket_low, bracket_high, difference_low, difference_high;
};

// All thresholds `which` can ask for:
//   alpha_c              training losses of two branches, by default the semantic and the positional one, are
//                        equal
//   alpha_l              the test error of the branch with the lowest training loss (of the semantic, the
//                        positional and, at rank >= 2, the mixed one) equals the linear baseline, or, where
//                        another branch takes over, jumps across it
//   semantic_exists, positional_exists   a limit of existence of that branch
//   semantic_stable, positional_stable   a limit of local stability: growth = 1 in some sector of the
//   Jacobian
// The last four give one entry per limit found. Errors include the quadrature errors of the branches.
const std::vector<std::string>& threshold_names();
std::vector<Threshold> find_thresholds(const Model& model, const Quadrature& quadrature,
                                       const ThresholdOptions& options, const std::vector<std::string>& which,
                                       const std::function<bool()>& interrupted = {});

}  // namespace qksolve::phase
