// One gradient step of the finite-size model at d = 1000, alpha = 2, beside the speed at which the same
// memory can be read. Rates count the data once: they are the share of that speed that the step reaches.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "qksolve/numerics/minimizers.hpp"
#include "qksolve/numerics/pack.hpp"
#include "qksolve/phase/finite_size.hpp"

namespace {

using namespace qksolve;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::int64_t kDimension = 1000, kSamples = 2000;

const phase::FiniteSize<double>& instance() {
  static const phase::FiniteSize<double> drawn(phase::Model{}, {0, 0, kDimension, kSamples});
  return drawn;
}

void set_rate(benchmark::State& state, std::size_t size) {
  state.SetBytesProcessed(state.iterations() * kSamples * 2 * kDimension * static_cast<std::int64_t>(size));
}

void read_memory(benchmark::State& state) {
  const phase::FiniteSize<double>& data = instance();
  const double* from = data.stored();
  const std::int64_t count = kSamples * 2 * kDimension;
  for (auto _ : state) {
    numerics::Pack sums[4] = {};
    for (std::int64_t i = 0; i + 4 * numerics::kLanes <= count; i += 4 * numerics::kLanes)
      for (int k = 0; k < 4; ++k) sums[k] += numerics::load(from + i + k * numerics::kLanes);
    benchmark::DoNotOptimize(sums);
  }
  set_rate(state, sizeof(double));
}
BENCHMARK(read_memory)->Unit(benchmark::kMillisecond);

template <class Store>
void gradient_step(benchmark::State& state, const phase::FiniteSize<Store>& data) {
  MatrixXd Q = data.teacher(), gradient;
  for (auto _ : state) {
    benchmark::DoNotOptimize(data.risk(Q, &gradient));
    Q -= 1e-9 * gradient;
  }
  set_rate(state, sizeof(Store));
}
void gradient_step_double(benchmark::State& state) { gradient_step(state, instance()); }
void gradient_step_float(benchmark::State& state) {
  static const phase::FiniteSize<float> drawn(phase::Model{}, {0, 0, kDimension, kSamples});
  gradient_step(state, drawn);
}
BENCHMARK(gradient_step_double)->Unit(benchmark::kMillisecond);
BENCHMARK(gradient_step_float)->Unit(benchmark::kMillisecond);

void lbfgs_to_tolerance(benchmark::State& state) {
  const phase::FiniteSize<double>& data = instance();
  const double root_d = std::sqrt(static_cast<double>(kDimension));
  const VectorXd start = state.range(0) == 0 ? VectorXd(data.teacher()) : VectorXd(data.directions());
  const numerics::Objective objective = [&](const VectorXd& x, VectorXd& out) {
    MatrixXd gradient;
    const double value = data.risk(x, &gradient);
    out = gradient.col(0);
    return value;
  };
  numerics::MinimizerOptions options;
  options.gradient_tolerance = 1e-8 * root_d;
  for (auto _ : state) state.counters["steps"] = numerics::lbfgs(objective, start, options).iterations;
}
BENCHMARK(lbfgs_to_tolerance)->ArgName("positional")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
