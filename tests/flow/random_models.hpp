// Models with random parameters for property tests.
#pragma once

#include <cmath>
#include <random>

#include "qksolve/flow/theory/model.hpp"

inline qksolve::flow::Model random_model(std::mt19937_64& random,
                                         const qksolve::flow::Parameterization& parameterization,
                                         bool balanced) {
  using namespace qksolve::flow;
  auto integer = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  auto log_uniform = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  Model model;
  model.task = {integer(2, 30), integer(1, 60), integer(5, 100),
                integer(1, 10), integer(5, 60), static_cast<Query>(integer(0, 2))};
  model.parameterization = parameterization;
  model.eta_ov = log_uniform(0.1, 10);
  model.eta_qk = model.eta_ov * log_uniform(0.01, 100);
  model.start = {log_uniform(1e-3, 0.3), log_uniform(1e-3, 0.3)};
  if (!balanced) {
    model.imbalance_ov = log_uniform(1e-3, 10);
    model.imbalance_qk = -log_uniform(1e-3, 10);
  }
  return model;
}
