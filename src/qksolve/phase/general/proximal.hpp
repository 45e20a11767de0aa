// The proximal map of a sequence loss,
//     z(c) = argmin_z  sum_l 1/2 (z_l - c_l)' (sigma_l^2 V)^{-1} (z_l - c_l) + loss(z),
// at its global minimum, for any number of tokens and any rank, kLanes samples side by side.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "qksolve/numerics/pack.hpp"
#include "qksolve/phase/general/sequence_loss.hpp"

namespace qksolve::phase {

// Whitened preactivations w_l = U^{-1} z_l / sigma_l with V = U U' make the quadratic part 1/2 |w - b|^2,
// b_l = U^{-1} c_l / sigma_l. All arrays have L r entries, [l r + k].
class ProximalMap {
 public:
  // `loss` must outlive the map.
  ProximalMap(const Model& model, const Eigen::MatrixXd& V, const SequenceLoss& loss);

  // Moves z to the lowest of the minima found by descent from z itself, from the centre, from the reflections
  // of both in the axes of rank space, and from `random_starts` points in random directions, which depend on
  // `seed` and the lane only. Returns the energy.
  numerics::Pack minimize(const numerics::Pack* c, const numerics::Pack* label, int random_starts,
                          std::uint64_t seed, numerics::Pack* z);

  // At the result of the last call: the loss; f_l = (sigma_l^2 V)^{-1} (z_l - c_l); and R = sum_l (dw_l/db_l
  // - 1), r x r at [i r + j], without jumps: sum_l sigma_l^2 df_l/dc_l = U^{-T} R U^{-1}.
  numerics::Pack loss() const { return at_.loss; }
  void force(numerics::Pack* f) const;
  void classical_response(numerics::Pack* response);

 private:
  using Packs = std::vector<numerics::Pack>;
  // A point with the energy there, its gradient and its Hessian in w.
  struct State {
    Packs w, gradient, hessian;
    numerics::Pack energy{}, loss{};
  };

  // Of every token with its own matrix, color_ (z from w) or whiten_ (w from z).
  void multiply(const std::vector<double>& triangles, const numerics::Pack* x, numerics::Pack* product) const;
  void evaluate(const numerics::Pack* label, State& at);
  // Newton from at.w, in place, while steps are longer than `tolerance`.
  void descend(const numerics::Pack* label, int steps, double tolerance, State& at);

  int tokens_, rank_, size_;
  double reach_;                        // of a first step, in w
  std::vector<double> color_, whiten_;  // sigma_l U and its inverse, r x r for each token, lower triangles
  const SequenceLoss& loss_;
  State at_, trial_;
  Packs b_, best_, start_, z_, gradient_, hessian_, product_, factor_, step_;
};

}  // namespace qksolve::phase
