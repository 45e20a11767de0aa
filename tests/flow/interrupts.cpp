#include "interruptible.hpp"
#include "qksolve/flow/theory/growth.hpp"
#include "qksolve/flow/training/full_matrix.hpp"
#include "qksolve/flow/training/synthetic.hpp"

using namespace qksolve::flow;
using qksolve::numerics::Interrupt;
using qksolve::test::check_interruptible;

TEST_CASE("both routes and the growth laws are interrupted anywhere") {
  for (const Route route : {integrate, closed_form})
    check_interruptible(
        [&](const Interrupt& interrupted) { growth_laws(Model{}, 1e6, 1e-8, route, interrupted); }, 1);
}

TEST_CASE("a training is interrupted anywhere, and its measurements until then are those of the whole one") {
  Training training;
  training.steps = 30;
  training.embedding = Embedding::gaussian;  // orthonormal ones wait for their decomposition, by the clock
  Model model;
  model.task = {.classes = 3, .pool = 2, .common = 4, .distinct_per_sequence = 2, .common_per_sequence = 4};
  training.dimension = static_cast<int>(vocabulary(model.task));
  const std::vector<std::int64_t> record_steps{0, 10, 20, 30};
  FullModel uninterrupted(model, training);
  const auto expected = train(uninterrupted, record_steps).measurements;
  std::size_t most = 0;
  for (const Optimizer optimizer : {Optimizer::gd, Optimizer::adamw, Optimizer::rk4}) {
    training.optimizer = optimizer;
    check_interruptible(
        [&](const Interrupt& interrupted) {
          std::vector<double> margins;
          FullModel full(model, training, interrupted);
          try {
            train(full, record_steps, [&](const Measurement& m) { margins.push_back(m.margin); });
          } catch (const qksolve::numerics::Interrupted&) {
            most = std::max(most, margins.size());
            if (optimizer == Optimizer::gd)
              for (std::size_t i = 0; i < margins.size(); ++i) CHECK(margins[i] == expected[i].margin);
            throw;
          }
        },
        30);
  }
  CHECK(most > 1);
}

TEST_CASE("the synthetic experiment is interrupted within a step") {
  SyntheticTraining training;
  training.steps = 2;
  training.batch = 40;
  check_interruptible(
      [&](const Interrupt& interrupted) {
        SyntheticModel model(training);
        train(model, interrupted);
      },
      2 * 40);
}
