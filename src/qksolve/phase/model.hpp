// The solvable model of dot-product attention of Cui, Behrens, Krzakala & Zdeborova (arXiv 2402.03902):
// a student with tied query-key matrix Q and positional encodings learns a teacher that mixes a semantic
// attention matrix with a positional one.
#pragma once

#include <Eigen/Core>

namespace qksolve::phase {

struct Model {
  int tokens = 2;        // L >= 2
  int rank = 1;          // r >= 1, columns of the student's Q
  int teacher_rank = 1;  // r* >= 1, columns of the teacher's Q*
  Eigen::VectorXd sigma =
      Eigen::VectorXd::Constant(2, 0.5);  // L standard deviations of a token's entries, > 0
  double lambda = 0.01;                   // ridge penalty on Q, > 0
  double omega = 0.3;                     // weight of the positional part of the teacher, in [0, 1]
  // A, L x L, row-stochastic: the teacher's positional attention.
  Eigen::MatrixXd teacher_matrix = (Eigen::MatrixXd(2, 2) << 0.6, 0.4, 0.4, 0.6).finished();
  // B, L x directions: token l carries the positional encoding sum_a B_la e_a with orthonormal e_a.
  Eigen::MatrixXd positional_matrix = (Eigen::MatrixXd(2, 1) << 1.0, -1.0).finished();

  int directions() const { return static_cast<int>(positional_matrix.cols()); }

  // Throws std::invalid_argument naming the first member with a wrong shape or range.
  void validate() const;
};

// Overlaps of the student, in the units of the theory (no factor sigma):
//   q = Q'Q/d (r x r), theta = Q'Q*/d (r x r*), m_a = Q'e_a/sqrt(d) (r x directions), V the local variance (r
//   x r).
// Reports use sigma^2 q, sigma^2 theta, sigma^2 V and m (the convention of the paper's tables) for uniform
// sigma.
struct Overlaps {
  Eigen::MatrixXd q, theta, m, V;
};

}  // namespace qksolve::phase
