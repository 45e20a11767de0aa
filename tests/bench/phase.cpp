// Speed of the state-evolution solver at alpha = 2, omega = .3: cmake --build DIR --target qksolve_bench
#include <benchmark/benchmark.h>

#include "qksolve/phase/equations/branches.hpp"
#include "qksolve/phase/equations/thresholds.hpp"
#include "qksolve/phase/general/random_quadrature.hpp"
#include "qksolve/phase/two_token/jump_quadrature.hpp"
#include "qksolve/phase/two_token/line.hpp"
#include "qksolve/phase/two_token/proximal.hpp"

using namespace qksolve::phase;
using qksolve::numerics::broadcast;
using qksolve::numerics::kLanes;
using qksolve::numerics::Pack;

namespace {

// Fixed points of the theory note, semantic and positional.
Overlaps fixed_point(bool semantic) {
  auto scalar = [](double x) { return Eigen::MatrixXd(Eigen::MatrixXd::Constant(1, 1, x)); };
  if (semantic) return {scalar(4 * 0.114817), scalar(4 * 0.158158), scalar(0), scalar(4 * 12.668)};
  return {scalar(4 * 0.05107), scalar(0), scalar(0.25823), scalar(4 * 11.369)};
}

Pack spread(double low, double high) {
  Pack p;
  for (int i = 0; i < kLanes; ++i) p[i] = low + (high - low) * i / (kLanes - 1);
  return p;
}

void line_points(benchmark::State& state) {
  TwoTokenLine line(0.62, 0.55, 3.17);
  line.move_to(0.1);
  const Pack w = spread(-0.8, 0.8);
  for (auto _ : state) benchmark::DoNotOptimize(line.evaluate(w));
  state.SetItemsProcessed(state.iterations() * kLanes);
}
BENCHMARK(line_points);

void proximal_descent(benchmark::State& state) {
  const TwoTokenLabel label{broadcast(0.62), broadcast(0.55)};
  const Pack x = spread(-0.8, 0.8);
  for (auto _ : state) benchmark::DoNotOptimize(two_token_proximal(label, 3.17, x, broadcast(0.1)));
  state.SetItemsProcessed(state.iterations() * kLanes);
}
BENCHMARK(proximal_descent);

void map_evaluation(benchmark::State& state) {
  const Overlaps o = fixed_point(state.range(1) == 0);
  for (auto _ : state)
    benchmark::DoNotOptimize(jump_moments(Model{}, o, jump_rule(static_cast<int>(state.range(0))),
                                          static_cast<int>(state.range(2))));
}
BENCHMARK(map_evaluation)
    ->ArgNames({"level", "positional", "threads"})
    ->ArgsProduct({{0, 1, 2, 3, 4}, {0, 1}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Of 2^12 nodes whose minima are known from the evaluation before.
void general_map_evaluation(benchmark::State& state) {
  Model model;
  model.tokens = static_cast<int>(state.range(0));
  model.rank = static_cast<int>(state.range(1));
  model.sigma = Eigen::VectorXd::Constant(model.tokens, 0.5);
  model.teacher_matrix = Eigen::MatrixXd::Constant(model.tokens, model.tokens, 0.4 / (model.tokens - 1));
  model.teacher_matrix.diagonal().setConstant(0.6);
  model.positional_matrix = Eigen::VectorXd::LinSpaced(model.tokens, 1, -1);
  const Quadrature quadrature = random_quadrature(model, attention_loss(model), 1, 1);
  const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(model.rank, model.rank);
  const Overlaps o{0.4 * one, 0.4 * one.col(0), 0.0 * one.col(0), 50 * one};
  for (auto _ : state) benchmark::DoNotOptimize(quadrature.evaluate(o, 1, 0));
  state.SetItemsProcessed(state.iterations() * 4096);
}
BENCHMARK(general_map_evaluation)
    ->ArgNames({"tokens", "rank"})
    ->ArgsProduct({{2, 3, 4}, {1, 2, 3}})
    ->Unit(benchmark::kMillisecond);

void fixed_point_at_tolerance(benchmark::State& state) {
  SolveOptions options;
  options.tolerance = 1.0 / static_cast<double>(state.range(0));
  const BranchSolver solver(Model{}, jump_quadrature(Model{}, static_cast<int>(state.range(2))), options);
  const Branch branch = state.range(1) == 0 ? kSemantic : kPositional;
  double error = 0;
  for (auto _ : state) {
    const BranchSolution s = solver.solve(2.0, branch);
    error = s.estimate.overlaps_error.V(0, 0) / s.estimate.overlaps.V(0, 0);
  }
  state.counters["relative_error_V"] = error;
}
BENCHMARK(fixed_point_at_tolerance)
    ->ArgNames({"1/tolerance", "positional", "threads"})
    ->ArgsProduct({{1000, 10000, 100000}, {0, 1}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void alpha_c(benchmark::State& state) {
  ThresholdOptions options;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        find_thresholds(Model{}, jump_quadrature(Model{}, 2), options, {"alpha_c", "alpha_l"}));
}
BENCHMARK(alpha_c)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
