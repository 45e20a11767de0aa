// Bayes-optimal message passing at finite dimension as rows of a result.
#pragma once

#include <string>
#include <vector>

#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/phase/report/simulation_rows.hpp"

namespace qksolve::results {

struct BayesSimulation {
  std::vector<std::string> inits;  // of informed, random
  double start_overlap = 0.1;      // of informed starts, in [0, 1)
  int steps = 200;
  double tolerance = 1e-8;  // on the last step, per sqrt(d)
  bool trajectory = false;
};

// Of one instance: a record `... q mse V iterations gradient_norm` for each start, gradient_norm being the
// size of the last step, and with `trajectory` their paths in `trace`. Throws
// numerics::Interrupted.
SimulationRows bayes_simulation_rows(const phase::Model& model, double alpha, const phase::Draw& draw,
                                     const BayesSimulation& options, const numerics::Interrupt& interrupted);

// For summarize_paths: the scalar recursion from the informed start, at each alpha, omega and d.
std::vector<std::pair<Json, std::vector<Json>>> bayes_paths(int tokens, const std::vector<double>& alphas,
                                                            const std::vector<double>& omegas,
                                                            const std::vector<std::int64_t>& dimensions,
                                                            const BayesSimulation& options);

}  // namespace qksolve::results
