// Averages of repeated finite-size simulations.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "qksolve/results/provenance.hpp"

namespace qksolve::results {

// `records`: phase simulation records; controls[i]: the control variates of record i's instance (may be
// empty), and controlled[i]: values of record i whose means are those of the quantities of the same name but
// whose noise is lower. Returns
//   groups: one flat object per (alpha, omega, d, init, optimizer), in order of appearance, with `count`,
//   `converged`
//     and per quantity its mean and `_error` (standard error), and with control variates `_controlled` and
//     `_controlled_error`. Runs that went non_finite are left out.
//   extrapolation: where there are several d, one object per (alpha, omega, init, optimizer): per quantity
//   the value
//     at 1/d = 0 of a weighted line fit through the groups (with control variates where they have them),
//     `_error`,
//     `_slope` in 1/d, `_chi_square`; and `degrees_of_freedom`.
Json summarize_simulation(const std::vector<Json>& records, const std::vector<Eigen::VectorXd>& controls,
                          const std::vector<Json>& controlled);

}  // namespace qksolve::results
