// Averages of repeated finite-size simulations.
#pragma once

#include <Eigen/Core>
#include <utility>
#include <vector>

#include "qksolve/results/provenance.hpp"

namespace qksolve::results {

// Whether a phase simulation record counts in averages: neither non_finite nor branch_changed.
bool is_averaged(const Json& record);

// `records`: phase simulation records; controls[i]: the control variates of record i's instance (may be
// empty), and controlled[i]: values of record i whose means are those of the quantities of the same name but
// whose noise is lower. Runs that went non_finite or are branch_changed are left out of all averages. Returns
//   groups: one flat object per (alpha, omega, d, init, optimizer), in order of appearance, with `count` (of
//   the
//     runs averaged), `converged`, `branch_changed` if any, and per quantity its mean and `_error` (standard
//     error), and with control variates `_controlled` and `_controlled_error`.
//   extrapolation: where there are several d, one object per (alpha, omega, init, optimizer): per quantity
//   the
//     value at 1/d = 0 of a weighted line fit through the groups (with control variates where they have
//     them),
//     `_error`, `_slope` in 1/d, `_chi_square`; and `degrees_of_freedom`.
//   differences: where instances have both a semantic and a positional start, per (alpha, omega, d,
//   optimizer)
//     train_loss_difference, positional less semantic, of train_loss_limit, averaged over instances; without
//     d the extrapolation. The part of the loss that is left out has no counterpart in the limit and would
//     shift the sign of the difference far.
//   crossings: per (omega, d, optimizer) the alpha between two neighbouring ones at which that difference
//   changes
//     sign, by linear interpolation; alpha_crossing_error is statistical. Without d the extrapolation, where
//     every d has exactly one.
Json summarize_simulation(const std::vector<Json>& records, const std::vector<Eigen::VectorXd>& controls,
                          const std::vector<Json>& controlled);

// Message passing along its run: per (alpha, omega, d, init, optimizer, iteration) of the trace rows the
// means of q, m, theta, V, mse, those it has, over instances with `_error`, and beside them `_predicted` and
// `_predicted_error` from the prediction rows that belong to the place (alpha, omega, d, init), as far as
// those go.
Json summarize_paths(const std::vector<Json>& trace,
                     const std::vector<std::pair<Json, std::vector<Json>>>& paths);

}  // namespace qksolve::results
