// Deterministic quadrature of the two-token, rank-one state evolution that follows the jumps of the proximal
// map.
//
// The expectation is four-dimensional: a teacher pair, on which the label depends, and the student's centre.
// The outer rule is polar in the teacher plane. Given the label, the centre's rotated coordinate s takes a
// Gauss-Hermite rule, and on each line of fixed s the other coordinate is integrated by Gauss-Legendre panels
// between the jumps, in the proximal point w as variable (two_token_line.hpp), where the integrand is
// analytic up to the jump itself. This is smoothing by preintegration (Griewank, Kuo, Leovey & Sloan 2018)
// with the kink found exactly.
#pragma once

#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/phase/equations/state_evolution.hpp"

namespace qksolve::phase {

// Sizes of the rule of one level.
struct JumpRule {
  int angles;       // of the teacher pair, per half turn
  int radii;        // of the teacher pair
  int lines;        // Gauss-Hermite nodes in s
  int panel_nodes;  // Gauss-Legendre nodes in a panel
  int cells;        // grid on which a line's convex hull is first taken
};
JumpRule jump_rule(int level);
inline constexpr int kJumpLevels = 9;

// Needs is_two_token(model), else std::invalid_argument. The work of one evaluation is shared by `threads`
// threads; the result does not depend on their number. Evaluations throw numerics::Interrupted.
Quadrature jump_quadrature(const Model& model, int threads, const numerics::Interrupt& interrupted = {});

Moments jump_moments(const Model& model, const Overlaps& overlaps, const JumpRule& rule, int threads,
                     const numerics::Interrupt& interrupted = {});

}  // namespace qksolve::phase
