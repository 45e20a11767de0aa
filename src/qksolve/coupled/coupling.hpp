// The force f that queries and keys exert on each other: a function of one token's query (or key), applied to
// many tokens at a time.
//
// Gahtan & Bronstein, "Coupled Query-Key Dynamics for Attention" (arXiv 2604.01683), give the two-layer
// network with SiLU and without bias; the other couplings, all widths and initial scales are choices made
// here.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <string>

#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::coupled {

// mlp: f(x) = W2 silu(W1 x). gradient: f = -grad V with V(x) = v . silu(W1 x). linear: f(x) = A x. harmonic:
// f(x) = -frequency^2 x.
enum class CouplingKind { mlp, gradient, linear, harmonic };
inline constexpr CouplingKind kCouplingKinds[] = {CouplingKind::mlp, CouplingKind::gradient,
                                                  CouplingKind::linear, CouplingKind::harmonic};
std::string coupling_name(CouplingKind kind);

// Only the members that `kind` names are used.
struct Coupling {
  CouplingKind kind = CouplingKind::mlp;
  Eigen::MatrixXd W1;  // hidden x d
  Eigen::MatrixXd W2;  // d x hidden
  Eigen::VectorXd v;   // hidden
  Eigen::MatrixXd A;   // d x d
  double frequency = 1;

  // Whether f = -grad V for a V that `potential` knows; Df is then symmetric.
  bool has_potential() const { return kind == CouplingKind::gradient || kind == CouplingKind::harmonic; }
  // Throws std::invalid_argument if the shapes do not fit together or tokens of dimension d.
  void validate(Eigen::Index dimension) const;
};

struct CouplingDraw {
  CouplingKind kind = CouplingKind::mlp;
  int dimension = 64, hidden = 64;  // >= 1
  double scale = 1;                 // >= 0
  double frequency = 1;             // of the harmonic coupling
  std::uint64_t seed = 0, instance = 0;
};

// Independent Gaussian weights, for x ~ N(0, I) and scale 1 of the size that makes the entries of f of order
// 1: W1 ~ N(0, scale^2/d), W2 ~ N(0, scale^2/hidden), v ~ N(0, scale^2 d/hidden), A ~ N(0, scale^2/d).
// Throws numerics::Interrupted.
Coupling draw_coupling(const CouplingDraw& draw, const numerics::Interrupt& interrupted = {});

// Calls work(first, count) for groups of tokens, none too many for a matrix of all their hidden units, or for
// the time in which an interrupt wants to be heard. For the default sizes there is one.
void for_token_groups(const Coupling& coupling, Eigen::Index tokens,
                      const std::function<void(Eigen::Index first, Eigen::Index count)>& work);

// f of every row of x (T x d), T x d.
Eigen::MatrixXd force(const Coupling& coupling, const Eigen::MatrixXd& x);

// Df of every row of x, side by side: d x (T d), the derivative at row t in columns t d ... t d + d - 1.
// Throws numerics::Interrupted.
Eigen::MatrixXd force_derivative(const Coupling& coupling, const Eigen::MatrixXd& x,
                                 const numerics::Interrupt& interrupted = {});

// tr Df of every row of x.
Eigen::VectorXd force_divergence(const Coupling& coupling, const Eigen::MatrixXd& x);

// V of every row of x. Throws std::invalid_argument for a coupling without potential.
Eigen::VectorXd potential(const Coupling& coupling, const Eigen::MatrixXd& x);

// Bounds on rounding errors, to first order in the unit roundoff u (an inner product of a and b of length n
// is off by at most n u |a||b|): of |f| of every row of x, of V, and of |Df - Df'|_F of any token where Df is
// symmetric. There must be a potential for that of V.
Eigen::VectorXd force_rounding(const Coupling& coupling, const Eigen::MatrixXd& x);
Eigen::VectorXd potential_rounding(const Coupling& coupling, const Eigen::MatrixXd& x);
double symmetry_rounding(const Coupling& coupling);

}  // namespace qksolve::coupled
