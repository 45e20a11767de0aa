// The map that evolves queries and keys before attention is scored, and its exact derivative.
//
// Every integrator is a sequence of stages that read the old and write the new values of a token,
//   q <- q + drift k + query_force f(q),   k <- k + kick f(q) + key_force f(k).
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "qksolve/coupled/coupling.hpp"
#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::coupled {

// standard: no evolution. euler: drift and kick at once from the old values. semi_implicit: kick, then drift
// with the new key. leapfrog: half kick, drift, half kick. uncoupled: q <- q + h f(q) and k <- k + h f(k), an
// MLP of the same size without exchange between the two.
enum class Integrator { standard, euler, semi_implicit, leapfrog, uncoupled };
inline constexpr Integrator kIntegrators[] = {Integrator::standard, Integrator::euler,
                                              Integrator::semi_implicit, Integrator::leapfrog,
                                              Integrator::uncoupled};
std::string integrator_name(Integrator integrator);

struct Map {
  Integrator integrator = Integrator::leapfrog;
  Coupling coupling;
  double step_size = 0.3;  // h
  int steps = 1;           // >= 0
};

// Of T tokens, T x d each.
struct State {
  Eigen::MatrixXd q, k;
};

struct Stage {
  double drift = 0, query_force = 0, kick = 0, key_force = 0;
};
// The stages of `steps` steps, in order; neighbouring half kicks are joined.
std::vector<Stage> stages(const Map& map);

// Throw std::invalid_argument if shapes do not fit; what takes an interrupt throws numerics::Interrupted.
State evolve(const Map& map, const State& start, const numerics::Interrupt& interrupted = {});
State flipped(const State& state);  // (q, -k)

// Derivative of a token's (q, k) by its initial (q, k), 2 d x 2 d, for every token: forward accumulation
// along the stages, the force's derivative of all tokens in one product. All are held: 32 d^2 bytes a token.
std::vector<Eigen::MatrixXd> jacobians(const Map& map, const State& start,
                                       const numerics::Interrupt& interrupted = {});

// log|det| of these, for any number of tokens; tokens are worked on in small groups.
Eigen::VectorXd log_abs_determinants(const Map& map, const State& start, int threads);

// One stage of the above. `derivatives` has Df(q) and, where the stage needs it, Df(k) of all tokens, as
// force_derivative returns them.
struct StageDerivatives {
  Eigen::MatrixXd at_query, at_key;
};
void advance(const Coupling& coupling, const Stage& stage, State& state);
StageDerivatives stage_derivatives(const Coupling& coupling, const Stage& stage, const State& before,
                                   const numerics::Interrupt& interrupted = {});
void advance_jacobian(const Stage& stage, const StageDerivatives& derivatives, Eigen::Index token,
                      Eigen::MatrixXd& jacobian);

}  // namespace qksolve::coupled
