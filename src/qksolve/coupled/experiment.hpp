// Everything that is stated of coupled dynamics, measured over independent draws of weights and tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qksolve/coupled/attention.hpp"
#include "qksolve/coupled/map.hpp"

namespace qksolve::coupled {

struct Setting {
  Integrator integrator = Integrator::leapfrog;
  CouplingKind coupling = CouplingKind::mlp;
  double step_size = 0.3;  // >= 0
  int steps = 1;           // >= 1
};

// x -> x query, x key for x ~ N(0, I) of the model's dimension; both model dimension x d.
struct Projections {
  Eigen::MatrixXd query, key;
};

struct Experiment {
  std::vector<Setting> settings;
  std::vector<int> contexts;  // each >= 2
  int dimension = 64, hidden = 64;
  double scale = 1, frequency = 1;
  int draws = 8;   // >= 2
  int states = 8;  // tokens a draw at which the exact statements are checked, >= 1
  std::uint64_t seed = 0;
  std::optional<Projections> projections;  // without, q and k ~ N(0, I), independent
};

enum class Verdict { converged, failed, non_finite, unknown };

// One quantity. exact: where it is off most, in units of the rounding allowed, over all draws and tokens; the
// errors are that bound. Otherwise means over draws, with standard errors joined to the error of the method.
struct Finding {
  Setting setting;
  std::optional<int> context;
  std::string quantity;
  bool exact = false;
  std::optional<double> measured, measured_error;
  std::optional<double> predicted, predicted_error, difference, difference_error;
  // failed: an exact statement is off by more than rounding allows; non_finite: what was measured overflowed;
  // unknown: it could not be measured.
  Verdict verdict = Verdict::converged;
  std::string reason;  // where not converged
};

// In the order of settings; first what has no context. The same for any number of threads. Where
// `interrupted` turns true, what is complete by then. `done` is called, by one thread at a time, after each
// of the task_count tasks.
std::size_t task_count(const Experiment& experiment);
std::vector<Finding> run_experiment(
    const Experiment& experiment, int threads, const numerics::Interrupt& interrupted = {},
    const std::function<void(const Setting&, std::optional<int> context)>& done = {});

}  // namespace qksolve::coupled
