// One instance of the finite-size experiment: draw, minimise from several starts, measure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qksolve/numerics/minimizers.hpp"
#include "qksolve/phase/finite_size.hpp"
#include "qksolve/phase/measurement.hpp"
#include "qksolve/phase/state_evolution.hpp"

namespace qksolve::phase {

enum class Optimizer { gradient_descent, adam, lbfgs, message_passing };

// Where a minimiser starts: at the teacher Q*, at the positional directions e_a, or at random entries N(0,
// .1^2). Columns of Q beyond those of Q* or e_a start at random.
enum class Init { semantic, positional, random };
std::string init_name(Init init);

struct ExperimentOptions {
  Optimizer optimizer = Optimizer::lbfgs;
  double learning_rate = 0.15;       // > 0, of gradient descent and Adam
  int steps = 1000;                  // >= 1
  double gradient_tolerance = 1e-8;  // on |grad E|_2/sqrt(d), > 0; message passing: on its own residual
  double damping = 0.75;             // weight of the old value in message passing, in [0, 1)
  Response response = Response::classical;  // in message passing
  bool single_precision = false;            // of the stored data
  std::int64_t test_samples = 50000;        // >= 2
  bool trajectory = false;
};

struct TrajectoryPoint {
  int iteration;
  Overlaps overlaps;                                // V only in message passing
  std::optional<double> train_loss, gradient_norm;  // as in Run; not in message passing
};

struct Run {
  Init init = Init::semantic;
  numerics::MinimizerStatus status = numerics::MinimizerStatus::iteration_limit;
  int iterations = 0;
  double train_loss = 0;     // E/d, the penalty included
  double gradient_norm = 0;  // |grad E|_2/sqrt(d)
  Overlaps overlaps;         // the sign of Q, at rank one, makes the overlap of the start positive
  TestErrors test;
  // The limit's form of the test error, exactly, given Q and Q*.
  std::optional<double> conditional_test_error;
  std::vector<TrajectoryPoint> trajectory;  // every step at first, then steps 5 % apart
};

struct InstanceResult {
  Eigen::VectorXd controls;  // control_variates of the instance
  std::vector<Run> runs;     // one per start
};

// Throws what FiniteSize and message_passing throw. Where `stop` turns true runs end as iteration_limit.
InstanceResult run_instance(const Model& model, const Draw& draw, const std::vector<Init>& inits,
                            const ExperimentOptions& options, const std::function<bool()>& stop = {});

}  // namespace qksolve::phase
