// What theory says of the coupled map exactly: each statement measured, with the difference that rounding
// allows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qksolve/coupled/map.hpp"

namespace qksolve::coupled {

// At the token (or entry) where |measured - predicted| is largest in units of `bound`.
struct Identity {
  std::string quantity;
  double predicted = 0, measured = 0;
  double bound = 0;  // on the rounding errors of the difference, to first order; worst case, not typical

  double difference() const { return measured - predicted; }
  bool holds() const;  // false, too, if anything is not finite
};
// Whether `a` is off by more of its bound than `b`.
bool worse(const Identity& a, const Identity& b);

// Those that apply to the map, of the following. D = Df, z = (q, k), J = dz_n/dz_0, Omega = [[0, I], [-I,
// 0]].
//
// log_volume: log|det J|. Zero for semi-implicit and leapfrog steps, sum log|det(1 - h^2 D(q_i))| for Euler,
//   sum log|det(1 + h D(q_i)) det(1 + h D(k_i))| uncoupled.
// symplectic_defect: |J' Omega J - Omega|_F. Zero for semi-implicit and leapfrog steps when f = -grad V. In
//   general the sum of J_i' E_i J_i over the stages, J_i the derivative up to stage i and E_i the defect of
//   the stage alone: c [[D - D', 0], [0, 0]] for a kick by c, [[h (D - D'), -h^2 D'], [h^2 D, 0]] for Euler.
// reversibility_defect: |F Phi F Phi z - z| with F(q, k) = (q, -k). Zero for leapfrog.
// query_gap (leapfrog, one step): |q_leapfrog - q_euler| = (h^2/2) |f(q)|.
// score (Euler, one step): q'_i . k'_j/sqrt(d), which is
//   [q_i . k_j + h (k_i . k_j + q_i . f(q_j)) + h^2 k_i . f(q_j)]/sqrt(d).
// energy_ratio (Euler, harmonic, frequency w): H_n/H_0 = (1 + h^2 w^2)^n, H = (|k|^2 + w^2 |q|^2)/2.
// harmonic_invariant (harmonic): |k|^2 + w^2 (1 - h^2 w^2/4) |q|^2 for leapfrog,
//   |k|^2 + w^2 |q|^2 - h w^2 q . k for semi-implicit steps, equal at both ends, stable or not.
// rotation_angle (leapfrog, harmonic, 0 < h w < 2): 2 n asin(h w/2), mod 2 pi, in the plane of
//   (w sqrt(1 - h^2 w^2/4) q, k).
// spectral_radius (Euler, linear): of the derivative of one step, max |1 +- h sqrt(lambda)|, lambda of A.
//
// The bounds follow the computed errors back to the start: the computed J is J (1 + E), the computed z_n is
// Phi_n(z_0 + e), and |E|, |e| are at most the sums of the errors made in each stage times |J_i^-1|.
// Throws numerics::Interrupted.
std::vector<Identity> identities(const Map& map, const State& start,
                                 const numerics::Interrupt& interrupted = {});

// Whether semi-implicit or leapfrog steps of the harmonic coupling stay bounded, h w < 2. Nothing for other
// maps.
std::optional<bool> is_stable(const Map& map);

}  // namespace qksolve::coupled
