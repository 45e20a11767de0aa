// Error of the best prediction of a label: T_hat = E[T | data, x], the test error of the phase commands
//   1/2 E tr (T - T_hat) D (T - T_hat)' = 1/2 (1 - omega)^2 sum_lk sigma_k^2 E Var(S_lk | w),
// S = softmax(h h'), h_l = sigma_l z_l, z given w as in sign_channel.hpp. At q = 0 it is the error of the
// best positional-only map; A drops out.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "qksolve/phase/equations/bayes_optimal/state_evolution.hpp"

namespace qksolve::phase::bayes {

struct Prediction {
  double error;        // at omega = 0
  double uncertainty;  // of `error`, absolute, >= 0
};

// For a given sigma (L >= 2 standard deviations > 0), good for any number of states.
class Predictor {
 public:
  // tolerance: wanted relative uncertainty. Two tokens: exact up to a quadrature that is refined; more:
  // randomised quasi-Monte-Carlo (from 31 tokens on random points) with this seed, the uncertainty being one
  // standard error.
  Predictor(const Eigen::VectorXd& sigma, double tolerance, std::uint64_t seed);

  Prediction operator()(const State& state) const;

  // Samples per dimension at which the best prediction has the given error > 0: 0 where that is not below the
  // error without knowledge, else more than alpha_weak.
  double alpha_at(double error) const;

 private:
  Prediction by_series(const State& state) const;
  Prediction by_sampling(const State& state) const;
  void refine_series();

  Eigen::VectorXd sigma_;
  SignChannel channel_;
  double tolerance_;
  std::uint64_t seed_;
  // Two tokens: weight of the Hermite polynomials of total degree 0, 2, 4, ... in the attention, on two
  // rules.
  std::vector<double> coarse_, fine_;
};

}  // namespace qksolve::phase::bayes
