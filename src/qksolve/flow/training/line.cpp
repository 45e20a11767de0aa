#include <cmath>
#include <tuple>

#include "qksolve/flow/training/full_matrix.hpp"

namespace qksolve::flow {

bool follows_line(const Training& training) {
  return training.init == Init::aligned && training.embedding == Embedding::orthogonal &&
         (training.optimizer == Optimizer::gd || training.optimizer == Optimizer::rk4);
}

LineRun::LineRun(const Model& model, Optimizer optimizer, double step_size)
    : model_(model),
      optimizer_(optimizer),
      step_size_(step_size),
      sizes_{std::sqrt(model.task.qk_multiplier()) * model.start.beta, 1,
             std::sqrt(model.task.pool) * model.start.u, 1} {
  const auto [factorized_qk, factorized_ov] = model.parameterization;
  if (factorized_qk) std::tie(sizes_.key, sizes_.query) = factor_sizes(sizes_.key, model.imbalance_qk);
  if (factorized_ov) std::tie(sizes_.out, sizes_.value) = factor_sizes(sizes_.out, model.imbalance_ov);
}

State LineRun::after(std::int64_t step, const numerics::Interrupt& interrupted) {
  const auto moved = [](const Sizes& from, const Sizes& along, double h) {
    return Sizes{from.key + h * along.key, from.query + h * along.query, from.out + h * along.out,
                 from.value + h * along.value};
  };
  for (; step_ < step; ++step_) {
    if (step_ % 4096 == 0) numerics::throw_if(interrupted);
    const Sizes k1 = velocity(sizes_);
    if (optimizer_ != Optimizer::rk4) {
      sizes_ = moved(sizes_, k1, step_size_);
      continue;
    }
    const Sizes k2 = velocity(moved(sizes_, k1, step_size_ / 2)),
                k3 = velocity(moved(sizes_, k2, step_size_ / 2)),
                k4 = velocity(moved(sizes_, k3, step_size_));
    sizes_ = moved(sizes_, moved(moved(k1, k4, 1), moved(k2, k3, 1), 2), step_size_ / 6);
  }
  return state(sizes_);
}

State LineRun::state(const Sizes& sizes) const {
  return {sizes.out * sizes.value / std::sqrt(model_.task.pool),
          sizes.key * sizes.query / std::sqrt(model_.task.qk_multiplier())};
}

LineRun::Sizes LineRun::velocity(const Sizes& sizes) const {
  const Task& task = model_.task;
  const State at = state(sizes);
  const double p = model_.attention(at.beta), g = p * model_.gate(p * at.u);
  const double ov = model_.eta_ov * std::sqrt(task.pool) * task.ov_constant() * g;
  const double qk = model_.eta_qk * std::sqrt(task.qk_multiplier()) * task.qk_constant() * at.u * g *
                    model_.attention_missing(at.beta);
  const auto [factorized_qk, factorized_ov] = model_.parameterization;
  return {qk * sizes.query, factorized_qk ? qk * sizes.key : 0, ov * sizes.value,
          factorized_ov ? ov * sizes.out : 0};
}

}  // namespace qksolve::flow
