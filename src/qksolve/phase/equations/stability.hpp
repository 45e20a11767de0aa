// Local stability of a fixed point, from Jacobians of the undamped map with all overlaps free.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "qksolve/phase/equations/branch_map.hpp"

namespace qksolve::phase {

// dF/dx in the coordinates `all` of a fixed point with `overlaps`, with the eigenvalue 1 of rotations of the
// columns of Q and of the teacher's, which lead to the same student, made 0. scale: of the coordinates.
Eigen::MatrixXd without_rotations(const Coordinates& all, const Overlaps& overlaps,
                                  const Eigen::VectorXd& scale, Eigen::MatrixXd jacobian);

// Spectral radius, growth of theta and growth of m (branches.hpp), in this order.
Eigen::Vector3d spectrum(const Coordinates& all, const Branch& branch, const Eigen::MatrixXd& jacobian);

struct SpectrumEstimate {
  Eigen::Vector3d value, error;
};

// The spectrum of the mean of independent estimates of one Jacobian, at least two, and three standard errors
// of it by the jackknife.
SpectrumEstimate jackknife_spectrum(const Coordinates& all, const Branch& branch,
                                    const std::vector<Eigen::MatrixXd>& jacobians);

// The spectrum at a fixed point of `branch`, by differences. Its error: the spread over the replicates of a
// randomised rule; else twice the change to the next coarser level (of level 0, the next finer) with twice
// the step. Nothing where the map cannot be evaluated around the point, or no more.
std::optional<SpectrumEstimate> estimate_spectrum(BranchMap& map, const BranchSolver& solver,
                                                  const Branch& branch, const Overlaps& overlaps, int level);

}  // namespace qksolve::phase
