// How a minimiser of the empirical risk responds, beside what the replica-symmetric theory assumes.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>

#include "qksolve/phase/finite_size/draws.hpp"

namespace qksolve::phase {

struct MinimumResponse {
  double V = 0, V_error = 0;  // tr H^{-1}/d with H the Hessian of E, in the units of the theory
  // Samples whose preactivations z are stationary but not the global proximal point of their cavity field
  // z + sigma^2 V dloss/dz, as a share. Replica symmetry takes it to be zero. In the form of the limit, as in
  // message passing.
  double trapped_share = 0;
};

// Exact up to this dimension, V_error = 0; above it, the mean over random signs s of s'H^{-1}s/d
// (Hutchinson), by conjugate gradients.
inline constexpr std::int64_t kExactResponseDimension = 2000;

// Hessian of E(Q), d x d, at rank one and two tokens.
template <class Store>
Eigen::MatrixXd hessian(const FiniteSize<Store>& instance, const Eigen::MatrixXd& Q);

// Nothing where the Hessian at Q is not positive definite: Q is no minimum. Needs is_two_token(model), else
// std::invalid_argument.
template <class Store>
std::optional<MinimumResponse> measure_response(const FiniteSize<Store>& instance, const Eigen::MatrixXd& Q,
                                                std::int64_t exact_dimension = kExactResponseDimension);

extern template Eigen::MatrixXd hessian(const FiniteSize<double>&, const Eigen::MatrixXd&);
extern template Eigen::MatrixXd hessian(const FiniteSize<float>&, const Eigen::MatrixXd&);
extern template std::optional<MinimumResponse> measure_response(const FiniteSize<double>&,
                                                                const Eigen::MatrixXd&, std::int64_t);
extern template std::optional<MinimumResponse> measure_response(const FiniteSize<float>&,
                                                                const Eigen::MatrixXd&, std::int64_t);

}  // namespace qksolve::phase
