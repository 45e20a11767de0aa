#include "qksolve/flow/theory/model.hpp"

#include <cmath>
#include <stdexcept>

namespace qksolve::flow {
namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw std::invalid_argument(message);
}

}  // namespace

std::string Parameterization::name() const {
  return std::string(factorized_qk ? "F" : "C") + "A" + (factorized_ov ? "F" : "C") + "O";
}

double Task::ov_constant() const { return 1.0 / (static_cast<double>(pool) * (classes - 1)); }

double Task::qk_constant() const {
  const double b = pool, distinct = b * classes;
  switch (query) {
    case Query::shared:
      return 1.0 / distinct + 1.0 / common;
    case Query::per_class:
      return 1.0 / distinct;
    case Query::paper:
      return 1.0 / (distinct * b);
  }
  return 0;
}

double Task::qk_multiplier() const {
  const double b = pool;
  switch (query) {
    case Query::shared:
      return 1.0 / qk_constant();
    case Query::per_class:
      return b;
    case Query::paper:
      return b * b;
  }
  return 0;
}

double Model::attention(double beta) const {
  const double weight = task.kappa() * std::exp(beta);
  return weight / (1.0 + weight);
}

double Model::attention_missing(double beta) const { return 1.0 / (1.0 + task.kappa() * std::exp(beta)); }

// Written with e^{-s}, which cannot overflow for s >= 0.
double Model::gate(double margin) const {
  const double others = (task.classes - 1) * std::exp(-margin);
  return others / (1.0 + others);
}

double Model::loss(double margin) const { return std::log1p((task.classes - 1) * std::exp(-margin)); }

double Model::margin_of_loss(double loss) const {
  // log(expm1(x)) = x + log(1 - e^{-x}) for large x.
  const double log_others = loss > 1 ? loss + std::log(-std::expm1(-loss)) : std::log(std::expm1(loss));
  return std::log(task.classes - 1.0) - log_others;
}

double Model::ov_factor(double u) const {
  return parameterization.factorized_ov ? std::hypot(imbalance_ov, 2.0 * std::sqrt(task.pool) * u) : 1.0;
}

double Model::qk_factor(double beta) const {
  return parameterization.factorized_qk
             ? std::hypot(imbalance_qk, 2.0 * std::sqrt(task.qk_multiplier()) * beta)
             : 1.0;
}

State Model::velocity(const State& state) const {
  const double p = attention(state.beta), g = gate(p * state.u);
  return {
      eta_ov * task.ov_constant() * p * g * ov_factor(state.u),
      eta_qk * task.qk_constant() * state.u * p * attention_missing(state.beta) * g * qk_factor(state.beta)};
}

double Model::rate_ratio() const { return eta_qk * task.qk_constant() / (eta_ov * task.ov_constant()); }

double Model::beta_slope(const State& state) const {
  return rate_ratio() * state.u * attention_missing(state.beta) * qk_factor(state.beta) / ov_factor(state.u);
}

void Model::validate() const {
  require(task.classes >= 2, "classes must be at least 2");
  require(task.pool >= 1, "pool must be at least 1");
  require(task.common >= 1, "common must be at least 1");
  require(task.distinct_per_sequence >= 1, "distinct_per_sequence must be at least 1");
  require(task.common_per_sequence >= 1, "common_per_sequence must be at least 1");
  require(eta_ov > 0 && std::isfinite(eta_ov), "eta_ov must be positive");
  require(eta_qk > 0 && std::isfinite(eta_qk), "eta_qk must be positive");
  require(std::isfinite(imbalance_ov), "imbalance_ov must be finite");
  require(std::isfinite(imbalance_qk), "imbalance_qk must be finite");
  require(start.u >= 0 && std::isfinite(start.u), "the start of u must be at least 0");
  require(start.beta >= 0 && start.beta <= 500, "the start of beta must lie in [0, 500]");
}

bool Model::ov_never_moves() const { return parameterization.factorized_ov && ov_factor(start.u) == 0; }
bool Model::qk_never_moves() const { return parameterization.factorized_qk && qk_factor(start.beta) == 0; }

}  // namespace qksolve::flow
