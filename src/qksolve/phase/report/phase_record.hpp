// Records of state-evolution solutions.
#pragma once

#include <vector>

#include "qksolve/phase/equations/branches.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::results {

// Overlaps in the reporting convention of the paper's tables, in units of the mean `variance` of the tokens'
// entries: `q m theta V` hold sigma^2 q, m, sigma^2 theta, sigma^2 V; theta and m positive, which
// the sign of Q allows. Of matrices what no rotation of Q's columns changes: `theta_norm` and `mu_norm`, and
// the eigenvalues `q_1 q_2 ...` of q, the largest first, with `V_1 V_2 ...`, V in the directions of their
// eigenvectors. `errors`, if given, holds the errors of the entries and is written as those of what is
// reported, + "_error".
void put_overlaps(Json& record, const phase::Overlaps& overlaps, double variance,
                  const phase::Overlaps* errors = nullptr);

// The record of one solution at one point; the quadrature knows the linear baseline.
Json phase_record(const phase::BranchSolution& solution, double omega, double variance,
                  const phase::Quadrature& quadrature);

// The same fields as in phase_record, for the records of all branches at one point: says which is the global
// minimum of the training loss. Nothing is said unless every branch either converged or is known to be
// absent, nor when the lowest two agree within their errors.
void mark_global_minimum(std::vector<Json>& records);

}  // namespace qksolve::results
