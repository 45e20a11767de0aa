// A branch followed along alpha.
#pragma once

#include <vector>

#include "qksolve/phase/equations/branches.hpp"

namespace qksolve::phase {

// Solves `branch` at every alpha of an ascending list. Upwards each point is started from its lower neighbour
// where that converged; where this fails, or there is no such neighbour, from the branch's own starts. Then
// downwards, from the upper neighbour, wherever the way up found nothing: so a branch is seen in all of the
// range in which it coexists with others. Points without success keep the status of the last try.
std::vector<BranchSolution> follow_branch(const BranchSolver& solver, const Branch& branch,
                                          const std::vector<double>& alphas);

}  // namespace qksolve::phase
