// Records of state-evolution solutions.
#pragma once

#include <vector>

#include "qksolve/phase/branches.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::results {

// Overlaps in the reporting convention of the paper's tables, `q m theta V` + suffix: sigma^2 q, m, sigma^2
// theta, sigma^2 V for tokens of one variance sigma^2; theta and m positive, which the sign of Q allows.
void put_overlaps(Json& record, const phase::Overlaps& overlaps, double variance,
                  const std::string& suffix = "");

// The record of one solution at one point; `baseline`: test error of the linear baseline.
Json phase_record(const phase::BranchSolution& solution, double omega, double variance, double baseline);

// The same fields as in phase_record, for the records of all branches at one point: says which is the global
// minimum of the training loss. Nothing is said unless every branch either converged or is known to be
// absent, nor when the lowest two agree within their errors.
void mark_global_minimum(std::vector<Json>& records);

}  // namespace qksolve::results
