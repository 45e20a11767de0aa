#include "qksolve/phase/equations/continuation.hpp"

namespace qksolve::phase {

std::vector<BranchSolution> follow_branch(const BranchSolver& solver, const Branch& branch,
                                          const std::vector<double>& alphas) {
  auto exists = [](const BranchSolution& s) { return s.status == Status::converged; };
  // Where a branch has just been searched for in vain its end is behind: one start is enough to see it begin
  // again.
  BranchSolver quick = solver;
  quick.set_thorough(false);
  std::vector<BranchSolution> solutions(alphas.size());
  for (std::size_t i = 0; i < alphas.size(); ++i) {
    const bool begins = i == 0, continues = !begins && exists(solutions[i - 1]);
    if (continues) solutions[i] = quick.solve(alphas[i], branch, solutions[i - 1].estimate.overlaps);
    if (!exists(solutions[i])) solutions[i] = (begins || continues ? solver : quick).solve(alphas[i], branch);
  }
  for (std::size_t i = alphas.size() - 1; i-- > 0;) {
    if (exists(solutions[i]) || !exists(solutions[i + 1])) continue;
    const BranchSolution s = quick.solve(alphas[i], branch, solutions[i + 1].estimate.overlaps);
    if (exists(s)) solutions[i] = s;
  }
  return solutions;
}

}  // namespace qksolve::phase
