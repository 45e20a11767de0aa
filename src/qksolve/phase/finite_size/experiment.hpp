// One instance of the finite-size experiment: draw, minimise from several starts, measure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qksolve/numerics/minimizers.hpp"
#include "qksolve/phase/equations/state_evolution.hpp"
#include "qksolve/phase/finite_size/draws.hpp"
#include "qksolve/phase/finite_size/measurement.hpp"
#include "qksolve/phase/finite_size/message_passing.hpp"
#include "qksolve/phase/finite_size/minimum_response.hpp"

namespace qksolve::phase {

enum class Optimizer { gradient_descent, adam, lbfgs, message_passing };

// Where a minimiser starts: at the teacher Q*, at the positional directions e_a, or at random entries N(0,
// .1^2). Columns of Q beyond those of Q* or e_a start at random.
// At Q*, at the positional directions, at both in columns of their own, or random.
enum class Init { semantic, positional, mixed, random };
std::string init_name(Init init);

struct ExperimentOptions {
  Optimizer optimizer = Optimizer::lbfgs;
  double learning_rate = 0.15;          // > 0, of gradient descent and Adam
  int steps = 1000;                     // >= 1
  double gradient_tolerance = 1e-8;     // on |grad E|_2/sqrt(d), > 0; message passing: on its own residual
  double damping = 0.75;                // weight of the old value in message passing, in [0, 1)
  Response response = Response::total;  // in message passing
  bool single_precision = false;        // of the stored data
  std::int64_t test_samples = 50000;    // >= 2
  bool trajectory = false;
  bool minimum_response = false;  // measure MinimumResponse; needs is_two_token(model)
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
  double train_loss = 0;       // E/d, the penalty included
  double positional_part = 0;  // of train_loss: positional_part(Q)/d
  double gradient_norm = 0;    // |grad E|_2/sqrt(d)
  // The sign of Q, at rank one, makes the overlap of the start positive. V only in message passing.
  Overlaps overlaps;
  TestErrors test;
  // The limit's form of the test error, exactly, given Q and Q*.
  std::optional<double> conditional_test_error;
  std::vector<TrajectoryPoint> trajectory;  // every step at first, then steps 5 % apart
  std::optional<MinimumResponse> minimum_response;
  std::int64_t switching = 0;        // in message passing: MessagePassingResult::switching
  std::optional<Init> branch_found;  // the one at which the run ended, see branch_of
};

struct InstanceResult {
  Eigen::VectorXd controls;  // control_variates of the instance
  std::vector<Run> runs;     // one per start
};

// Which branch a student belongs to. At rank one: that whose direction, Q* or e, it is closer to; nothing
// where its cosines with the two differ by less than 4/sqrt(d), four times the cosine of a random direction
// (times the root of their number, where there are several). At higher rank: by which of the overlaps are
// larger than that. At small d, or far from any minimum, it cannot be told.
std::optional<Init> branch_of(const Overlaps& overlaps, double teacher_norm, std::int64_t dimension);

// Overlaps of the starts as d grows at fixed cosines: what message passing begins with. Random entries have
// no overlap with Q* and e.
Overlaps start_overlaps(Init init, std::int64_t dimension);
// What `options` mean to message passing at this dimension.
MessagePassingOptions message_passing_options(const ExperimentOptions& options, std::int64_t dimension);

// Throws what FiniteSize and message_passing throw, numerics::Interrupted among it.
InstanceResult run_instance(const Model& model, const Draw& draw, const std::vector<Init>& inits,
                            const ExperimentOptions& options, const numerics::Interrupt& interrupted = {});

}  // namespace qksolve::phase
