// The map F whose fixed points are a branch, with all that bounds a solve: the domain, the number of
// evaluations, and an interruption.
#pragma once

#include "qksolve/phase/equations/branch_overlaps.hpp"

namespace qksolve::phase {

class BranchMap {
 public:
  // `solver` must outlive the map. `limit`: evaluations allowed in all, each over all replicates.
  BranchMap(const BranchSolver& solver, double alpha, const Branch& branch, int limit);

  // F at one level of the quadrature; replicate -1: the mean over all of them. False where F is not defined,
  // once the limit is reached, and after an interruption. `moments` are then those of an earlier point.
  bool evaluate(const Coordinates& coordinates, const Eigen::VectorXd& x, int level, int replicate,
                Eigen::VectorXd& fx, bool gauge = true);
  const Moments& moments() const { return moments_; }

  // Whether the caller has asked to stop, now or at an earlier question.
  bool interrupted();
  bool exhausted() const { return left() < 1; }
  int evaluations() const;  // made so far, in units of all replicates, rounded up
  int left() const;         // evaluations that are left

  // Whether the student is as good as Q = 0, which is the minimum where the penalty outweighs what the data
  // can teach: its attention is uniform to all digits. Of few samples a student learns little, hence alpha.
  bool collapsed(const Overlaps& overlaps) const { return preactivation(overlaps) < 1e-12 * unit_; }

  // Whether an iteration that stands at `overlaps`, where F is `next`, ends at Q = 0: the student is so small
  // that attention is linear in q, F shrinks it, and F shrinks one that is next to zero, whose V has settled.
  bool falls_to_zero(const Overlaps& overlaps, const Overlaps& next, int level);

 private:
  double preactivation(const Overlaps& overlaps) const;  // the variance of a student's preactivations
  double largest_norm() const;
  Overlaps fix_gauge(const Overlaps& overlaps) const;
  Moments expectation(const Overlaps& overlaps, int level, int replicate) const;

  const BranchSolver& solver_;
  double alpha_, unit_;
  int gauged_columns_;
  Coordinates zero_coordinates_;  // of students without overlaps
  long long limit_, used_ = 0;    // in single replicates
  bool interrupted_ = false, rises_from_zero_ = false;
  Moments moments_;
};

}  // namespace qksolve::phase
