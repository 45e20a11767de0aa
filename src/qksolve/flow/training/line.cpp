#include <cmath>
#include <tuple>

#include "qksolve/flow/training/full_matrix.hpp"

namespace qksolve::flow {
namespace {

// Sizes of the factors of both circuits' one mode; a collapsed matrix is the first, and the second 1.
struct Line {
  double key, query, out, value;
};

State state_of(const Model& model, const Line& line) {
  return {line.out * line.value / std::sqrt(model.task.pool),
          line.key * line.query / std::sqrt(model.task.qk_multiplier())};
}

Line velocity(const Model& model, const Line& line) {
  const Task& task = model.task;
  const State state = state_of(model, line);
  const double p = model.attention(state.beta), g = p * model.gate(p * state.u);
  const double ov = model.eta_ov * std::sqrt(task.pool) * task.ov_constant() * g;
  const double qk = model.eta_qk * std::sqrt(task.qk_multiplier()) * task.qk_constant() * state.u * g *
                    model.attention_missing(state.beta);
  const auto [factorized_qk, factorized_ov] = model.parameterization;
  return {qk * line.query, factorized_qk ? qk * line.key : 0, ov * line.value,
          factorized_ov ? ov * line.out : 0};
}

Line moved(const Line& line, const Line& along, double h) {
  return {line.key + h * along.key, line.query + h * along.query, line.out + h * along.out,
          line.value + h * along.value};
}

}  // namespace

bool follows_line(const Training& training) {
  return training.init == Init::aligned && training.embedding == Embedding::orthogonal &&
         (training.optimizer == Optimizer::gd || training.optimizer == Optimizer::rk4);
}

std::vector<State> train_on_line(const Model& model, Optimizer optimizer, double step_size,
                                 const std::vector<std::int64_t>& record_steps) {
  const auto [factorized_qk, factorized_ov] = model.parameterization;
  Line line{std::sqrt(model.task.qk_multiplier()) * model.start.beta, 1,
            std::sqrt(model.task.pool) * model.start.u, 1};
  if (factorized_qk) std::tie(line.key, line.query) = factor_sizes(line.key, model.imbalance_qk);
  if (factorized_ov) std::tie(line.out, line.value) = factor_sizes(line.out, model.imbalance_ov);
  std::vector<State> states;
  std::int64_t step = 0;
  for (const std::int64_t record : record_steps) {
    for (; step < record; ++step) {
      const Line k1 = velocity(model, line);
      if (optimizer != Optimizer::rk4) {
        line = moved(line, k1, step_size);
        continue;
      }
      const Line k2 = velocity(model, moved(line, k1, step_size / 2)),
                 k3 = velocity(model, moved(line, k2, step_size / 2)),
                 k4 = velocity(model, moved(line, k3, step_size));
      line = moved(line, moved(moved(k1, k4, 1), moved(k2, k3, 1), 2), step_size / 6);
    }
    states.push_back(state_of(model, line));
  }
  return states;
}

}  // namespace qksolve::flow
