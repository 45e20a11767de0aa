// State evolution (replica-symmetric fixed-point equations) of empirical risk minimisation in the attention
// model, arXiv 2402.03902, for any number of tokens and any ranks. The expectations are supplied by a
// quadrature.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "qksolve/phase/model.hpp"

namespace qksolve::phase {

// Expectations over one sample at given overlaps. c_l is the student's preactivation of token l (r), h_l the
// teacher's (r*), z = z(c, T) the global proximal point, f_l = (sigma_l^2 V)^{-1} (z_l - c_l).
struct Moments {
  double loss = 0;                     // E[1/2 tr (S(z) - T) D (S(z) - T)'], D = diag(sigma_l^2)
  Eigen::MatrixXd force_outer;         // sum_l sigma_l^2 E[f_l f_l'],       r x r
  Eigen::MatrixXd response;            // sum_l sigma_l^2 E[df_l/dc_l],      r x r, by parts: jumps count
  Eigen::MatrixXd classical_response;  // the same without the jumps,        r x r
  Eigen::MatrixXd teacher_response;    // sum_l sigma_l^2 E[df_l/dh_l],      r x r*, by parts
  Eigen::MatrixXd positional_force;    // sum_l B_la E[f_l] in column a,     r x directions
  double test_loss = 0;                // E[1/2 tr (S(c) - T) D (S(c) - T)'], where the rule computes it
  double jump_mass = 0;  // share of the quadrature's lines of centres on which the proximal map jumps
  double mass = 1;       // E[1] by the same rule: 1 up to its error

  Moments() = default;
  Moments(int rank, int teacher_rank, int directions);
  Moments& operator+=(const Moments& other);
  Moments& operator*=(double factor);
};

// What the solver asks of a model: expectations by a family of rules of increasing accuracy, and its test
// errors.
struct Quadrature {
  std::string name;
  int levels = 1;  // levels 0 .. levels - 1
  int replicates =
      1;  // 1: deterministic rule; else independent randomisations 0 .. replicates - 1 of each level
  // Needs admissible overlaps.
  std::function<Moments(const Overlaps&, int level, int replicate)> evaluate;
  // 1/2 E tr (S(c) - T) D (S(c) - T)', the test error of a student with these overlaps, to the relative
  // `tolerance`; `error` receives the estimated error. Empty: `evaluate` gives it, as test_loss.
  std::function<double(const Overlaps&, double tolerance, double& error)> generalization_error;
  double linear_baseline = 0, linear_baseline_error = 0;  // test error of the best positional-only linear map
};

// Which response closes the equation for V: the full derivative of the replica-symmetric theory, or the
// classical one without the proximal map's jumps, a heuristic for isolated minima.
enum class Response { total, classical };

// Whether overlaps are admissible: V and q - theta theta' positive definite, all finite.
bool admissible(const Overlaps& overlaps);

// One undamped step of the state evolution; nothing if lambda + Vhat is not positive definite.
std::optional<Overlaps> update(const Model& model, double alpha, const Overlaps& overlaps,
                               const Moments& moments, Response response = Response::total);

// Training loss E/d from its two parts, alpha E[loss] + lambda/2 tr q.
double training_loss(const Model& model, double alpha, const Overlaps& overlaps, const Moments& moments);

// Replica-symmetric free energy per dimension,
//   alpha E[Moreau envelope] + lambda/2 tr q - 1/2 tr V^{-1} (q - theta theta' - sum_a m_a m_a'),
// whose stationary points in (q, theta, m, V) are the fixed points. There it equals the training loss, and
// its derivative in alpha is the expected envelope.
double free_energy(const Model& model, double alpha, const Overlaps& overlaps, const Moments& moments);
double expected_envelope(const Overlaps& overlaps, const Moments& moments);

}  // namespace qksolve::phase
