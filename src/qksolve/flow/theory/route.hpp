// What the two routes share: targets to cross, and what follows from (t, u, beta) at a point.
#pragma once

#include <vector>

#include "qksolve/flow/theory/invariant.hpp"
#include "qksolve/flow/theory/trajectory.hpp"

namespace qksolve::flow {

// A level of the margin (from a loss) or of beta. Both increase along the flow.
struct Target {
  bool of_beta = false;
  double level = 0;
  Point* point = nullptr;  // where the answer goes
  bool reached = false;

  double value(const Model& model, const State& state) const {
    return (of_beta ? state.beta : model.margin(state)) - level;
  }
  // d value for a change (d u, d beta) of the state.
  double change(const Model& model, const State& state, const State& direction) const;
};

// Sizes the three lists of the trajectory and returns targets that point into them; throws
// std::invalid_argument for a request that is out of range.
std::vector<Target> prepare(const Model& model, const Request& request, Trajectory& trajectory);

// Fills in attention, margin, loss, their errors and the drift from t, u, beta and their errors; `increase`
// is u - start.u. A converged point whose drift or relative errors exceed the tolerance becomes `failed`.
void complete(const Model& model, Invariant& invariant, double increase, double tolerance, Point& point);

}  // namespace qksolve::flow
