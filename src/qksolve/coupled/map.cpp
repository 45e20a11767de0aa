#include "qksolve/coupled/map.hpp"

#include <algorithm>
#include <stdexcept>

#include "qksolve/numerics/dense.hpp"
#include "qksolve/numerics/parallel.hpp"

namespace qksolve::coupled {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kGroup = 16;  // tokens whose Jacobians are made at a time

bool only_kicks(const Stage& s) { return s.drift == 0 && s.query_force == 0 && s.key_force == 0; }

void validate(const Map& map, const State& state) {
  if (state.q.rows() != state.k.rows() || state.q.cols() != state.k.cols())
    throw std::invalid_argument("queries and keys must have one shape");
  if (map.steps < 0) throw std::invalid_argument("the number of steps must not be negative");
  map.coupling.validate(state.q.cols());
}

}  // namespace

std::string integrator_name(Integrator integrator) {
  switch (integrator) {
    case Integrator::standard:
      return "standard";
    case Integrator::euler:
      return "euler";
    case Integrator::semi_implicit:
      return "semi-implicit";
    case Integrator::leapfrog:
      return "leapfrog";
    default:
      return "uncoupled";
  }
}

std::vector<Stage> stages(const Map& map) {
  const double h = map.step_size;
  const Stage drift{h, 0, 0, 0}, kick{0, 0, h, 0}, half_kick{0, 0, h / 2, 0};
  std::vector<Stage> step;
  if (map.integrator == Integrator::euler) step = {{h, 0, h, 0}};
  if (map.integrator == Integrator::semi_implicit) step = {kick, drift};
  if (map.integrator == Integrator::leapfrog) step = {half_kick, drift, half_kick};
  if (map.integrator == Integrator::uncoupled) step = {{0, h, 0, h}};
  std::vector<Stage> all;
  for (int i = 0; i < map.steps; ++i)
    for (const Stage& stage : step) {
      if (!all.empty() && only_kicks(all.back()) && only_kicks(stage))
        all.back().kick += stage.kick;
      else
        all.push_back(stage);
    }
  return all;
}

void advance(const Coupling& coupling, const Stage& stage, State& state) {
  MatrixXd query_force, key_force;
  if (stage.kick != 0 || stage.query_force != 0) query_force = force(coupling, state.q);
  if (stage.key_force != 0) key_force = force(coupling, state.k);
  if (stage.drift != 0) state.q += stage.drift * state.k;  // of the old k: kicks come below
  if (stage.query_force != 0) state.q += stage.query_force * query_force;
  if (stage.kick != 0) state.k += stage.kick * query_force;
  if (stage.key_force != 0) state.k += stage.key_force * key_force;
}

State evolve(const Map& map, const State& start, const numerics::Interrupt& interrupted) {
  validate(map, start);
  State end = start;
  const std::vector<Stage> all = stages(map);
  for_token_groups(map.coupling, start.q.rows(), [&](Index first, Index count) {
    State group{start.q.middleRows(first, count), start.k.middleRows(first, count)};
    for (const Stage& stage : all) {
      numerics::throw_if(interrupted);
      advance(map.coupling, stage, group);
    }
    end.q.middleRows(first, count) = group.q;
    end.k.middleRows(first, count) = group.k;
  });
  return end;
}

State flipped(const State& state) { return {state.q, -state.k}; }

StageDerivatives stage_derivatives(const Coupling& coupling, const Stage& stage, const State& before,
                                   const numerics::Interrupt& interrupted) {
  StageDerivatives derivatives;
  if (stage.kick != 0 || stage.query_force != 0)
    derivatives.at_query = force_derivative(coupling, before.q, interrupted);
  if (stage.key_force != 0) derivatives.at_key = force_derivative(coupling, before.k, interrupted);
  return derivatives;
}

void advance_jacobian(const Stage& stage, const StageDerivatives& derivatives, Index token,
                      MatrixXd& jacobian) {
  const Index d = jacobian.rows() / 2;
  auto dq = jacobian.topRows(d), dk = jacobian.bottomRows(d);
  MatrixXd query_force, key_force;
  if (derivatives.at_query.size() > 0) query_force = derivatives.at_query.middleCols(token * d, d) * dq;
  if (derivatives.at_key.size() > 0) key_force = derivatives.at_key.middleCols(token * d, d) * dk;
  if (stage.drift != 0) dq += stage.drift * dk;
  if (stage.query_force != 0) dq += stage.query_force * query_force;
  if (stage.kick != 0) dk += stage.kick * query_force;
  if (stage.key_force != 0) dk += stage.key_force * key_force;
}

std::vector<MatrixXd> jacobians(const Map& map, const State& start, const numerics::Interrupt& interrupted) {
  validate(map, start);
  const Index d = start.q.cols();
  std::vector<MatrixXd> found(static_cast<std::size_t>(start.q.rows()), MatrixXd::Identity(2 * d, 2 * d));
  State state = start;
  for (const Stage& stage : stages(map)) {
    const StageDerivatives derivatives = stage_derivatives(map.coupling, stage, state, interrupted);
    for (std::size_t t = 0; t < found.size(); ++t) {
      numerics::throw_if(interrupted);
      advance_jacobian(stage, derivatives, static_cast<Index>(t), found[t]);
    }
    advance(map.coupling, stage, state);
  }
  return found;
}

VectorXd log_abs_determinants(const Map& map, const State& start, int threads) {
  validate(map, start);
  const Index tokens = start.q.rows();
  VectorXd found(tokens);
  numerics::parallel_for((tokens + kGroup - 1) / kGroup, threads, 1, [&] {
    return [&](Index group) {
      const Index first = group * kGroup, count = std::min(kGroup, tokens - first);
      const std::vector<MatrixXd> of_group =
          jacobians(map, {start.q.middleRows(first, count), start.k.middleRows(first, count)});
      for (Index t = 0; t < count; ++t)
        found[first + t] =
            numerics::lu_factors(of_group[static_cast<std::size_t>(t)]).diagonal().array().abs().log().sum();
    };
  });
  return found;
}

}  // namespace qksolve::coupled
