// The rule of Adam (Kingma & Ba 2015) with decoupled weight decay (Loshchilov & Hutter 2019), for one array
// of weights.
#pragma once

#include <Eigen/Core>
#include <cmath>

#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::numerics {

class AdamW {
 public:
  // weights -= rate (decay weights + mean/(sqrt(mean square) + epsilon)), moments of the gradients so far
  // with the standard constants. The shape must be that of the calls before. Throws Interrupted, after which
  // weights and moments are of no use.
  void step(Eigen::MatrixXd& weights, const Eigen::MatrixXd& gradient, double rate, double decay,
            const Interrupt& interrupted = {}) {
    throw_if(interrupted);
    constexpr double kFirst = 0.9, kSecond = 0.999, kEpsilon = 1e-8;
    if (count_++ == 0) mean_ = square_ = Eigen::MatrixXd::Zero(weights.rows(), weights.cols());
    const double first = 1 - std::pow(kFirst, count_), second = 1 - std::pow(kSecond, count_);
    mean_ = kFirst * mean_ + (1 - kFirst) * gradient;
    square_.array() = kSecond * square_.array() + (1 - kSecond) * gradient.array().square();
    throw_if(interrupted);
    weights.array() -= rate * (decay * weights.array() +
                               mean_.array() / first / ((square_.array() / second).sqrt() + kEpsilon));
  }

 private:
  Eigen::MatrixXd mean_, square_;
  int count_ = 0;
};

}  // namespace qksolve::numerics
