// The exact invariant of the reduced flow: L(beta) - r H(u) is conserved, where
//   H' = u/phi_O(u),   L' = 1/((1 - p) phi_Q(beta)).
//   collapsed OV     H = u^2/2
//   factorized OV    H = sqrt(imbalance^2 + 4 b u^2)/(4 b)
//   collapsed QK     L = beta + kappa e^beta
//   factorized QK    L = [ln beta + kappa Ei(beta)]/(2 q), q = sqrt(qm), if balanced; otherwise, with
//                    a = |imbalance|/(2 q), beta = a sinh(theta) and the generating function of the Bessel
//                    functions, L = [theta + kappa (J_0(a) theta
//                         + sum_k J_k(a) {(e^{k theta} - 1) + (-1)^k (1 - e^{-k theta})}/k)]/(2 q)
//                    (for large a by Gauss quadrature of L').
#pragma once

#include <vector>

#include "qksolve/flow/theory/model.hpp"

namespace qksolve::flow {

class Invariant {
 public:
  // `model` must be valid and must move (see Model::ov_never_moves, qk_never_moves).
  explicit Invariant(const Model& model);

  // H(start.u + increase) - H(start.u), increase >= 0, to full relative precision.
  double h_change(double increase) const;
  // L(beta) - L(start.beta) for beta >= start.beta; to full relative precision when start.beta = 0.
  double l_change(double beta);
  // beta at u = start.u + increase. `guess` near the solution saves iterations, any value >= start.beta
  // works. NaN if the iteration does not converge.
  double beta_at(double increase, double guess);
  // |L(beta) - L(start.beta) - r (H(u) - H(start.u))| (1 - p) phi_Q/beta: the relative change of beta that
  // would restore the invariant. 0 at the start.
  double drift(double increase, double beta);

 private:
  double unbalanced(double theta);     // 2 q L of the unbalanced product, up to a constant
  double bessel_series(double theta);  // its part with kappa
  double small_scale_series(double theta) const;
  double quadrature(double beta) const;  // the same for large a, up to another constant
  double collapsed_beta(double target) const;

  Model model_;
  double rate_ratio_, twice_q_ = 0;
  bool balanced_ = true;
  double scale_ = 0;    // a
  double start_l_ = 0;  // Ei(start.beta), or 2 q L at the start
  // In long double for its range: J_k is below 1e-308 where e^{k theta} is above 1e308.
  std::vector<long double> bessel_;
};

}  // namespace qksolve::flow
