#include "interruptible.hpp"
#include "qksolve/phase/finite_size/experiment.hpp"
#include "qksolve/phase/finite_size/message_passing_path.hpp"
#include "qksolve/phase/general/random_quadrature.hpp"
#include "qksolve/phase/general/sequence_loss.hpp"
#include "qksolve/phase/two_token/jump_quadrature.hpp"

using namespace qksolve::phase;
using qksolve::numerics::Interrupt;
using qksolve::test::check_interruptible;

namespace {

Overlaps some_overlaps() {
  auto matrix = [](double value) { return Eigen::MatrixXd::Constant(1, 1, value); };
  return {matrix(0.3), matrix(0.2), matrix(0.1), matrix(5)};
}

}  // namespace

TEST_CASE("quadratures are interrupted anywhere, on one thread and on several") {
  for (const int threads : {1, 2}) {
    check_interruptible(
        [&](const Interrupt& interrupted) {
          jump_quadrature(Model{}, threads, interrupted).evaluate(some_overlaps(), 1, 0);
        },
        20);
    // Before every few points, whose proximal maps may take a millisecond.
    check_interruptible(
        [&](const Interrupt& interrupted) {
          const Model model;
          random_quadrature(model, attention_loss(model), 1, threads, interrupted)
              .evaluate(some_overlaps(), 0, 0);
        },
        1024 / qksolve::numerics::kLanes);
  }
}

TEST_CASE("an experiment is interrupted in its draws, its descent and its measurements") {
  for (const Optimizer optimizer :
       {Optimizer::gradient_descent, Optimizer::adam, Optimizer::lbfgs, Optimizer::message_passing}) {
    ExperimentOptions options;
    options.optimizer = optimizer;
    options.learning_rate = 0.01;
    options.steps = 5;
    options.test_samples = 100;
    options.minimum_response = optimizer != Optimizer::message_passing;
    check_interruptible(
        [&](const Interrupt& interrupted) {
          run_instance(Model{}, {1, 0, 40, 80}, {Init::semantic, Init::random}, options, interrupted);
        },
        5 * 10 + 2 * 100 + 80);
  }
  check_interruptible(
      [&](const Interrupt& interrupted) {
        predict_message_passing(Model{}, 2, start_overlaps(Init::positional, 100), 3, 0.5, {}, interrupted);
      },
      3);
}
