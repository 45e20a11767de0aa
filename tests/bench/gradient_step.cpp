// One gradient step of the finite-size model at d = 1000, alpha = 2, beside the speed at which the same
// memory can be read, and instances in parallel. Rates count the data once.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "qksolve/numerics/minimizers.hpp"
#include "qksolve/numerics/pack.hpp"
#include "qksolve/numerics/parallel.hpp"
#include "qksolve/phase/finite_size/experiment.hpp"

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

double read_all(const phase::FiniteSize<double>& data) {
  const double* from = data.stored();
  constexpr std::int64_t kCount = kSamples * 2 * kDimension, kBlock = 8 * numerics::kLanes;
  numerics::Pack sums[8] = {};
  for (std::int64_t i = 0; i + kBlock <= kCount; i += kBlock)
    for (int k = 0; k < 8; ++k) sums[k] += numerics::load(from + i + k * numerics::kLanes);
  numerics::Pack total{};
  for (const numerics::Pack& sum : sums) total += sum;
  return numerics::sum(total);
}

// Reads and steps in turn, so that both see the same machine: the rates of the fastest of each and of their
// medians, and the step's share of the reading speed.
void gradient_step_beside_reading(benchmark::State& state) {
  const phase::FiniteSize<double>& data = instance();
  MatrixXd Q = data.teacher(), gradient;
  using Clock = std::chrono::steady_clock;
  std::vector<double> reads, steps;
  for (auto _ : state) {
    const auto begin = Clock::now();
    benchmark::DoNotOptimize(read_all(data));
    const auto middle = Clock::now();
    benchmark::DoNotOptimize(data.risk(Q, &gradient));
    reads.push_back(std::chrono::duration<double>(middle - begin).count());
    steps.push_back(std::chrono::duration<double>(Clock::now() - middle).count());
  }
  std::sort(reads.begin(), reads.end());
  std::sort(steps.begin(), steps.end());
  const double gigabytes = 1e-9 * kSamples * 2 * kDimension * sizeof(double);
  const std::size_t middle = reads.size() / 2;
  state.counters["read_GB_per_s"] = gigabytes / reads.front();
  state.counters["step_GB_per_s"] = gigabytes / steps.front();
  state.counters["share_best"] = reads.front() / steps.front();
  state.counters["share_median"] = reads[middle] / steps[middle];
}
BENCHMARK(gradient_step_beside_reading)->Unit(benchmark::kMillisecond)->Iterations(1000);

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

// Eight instances to their minimum, on one thread and on two.
void instances(benchmark::State& state) {
  phase::ExperimentOptions options;
  options.test_samples = 1000;
  for (auto _ : state)
    numerics::parallel_for(8, static_cast<int>(state.range(0)), 1, [&] {
      return [&](std::ptrdiff_t i) {
        phase::run_instance(phase::Model{}, {0, i, kDimension, kSamples}, {phase::Init::semantic}, options);
      };
    });
}
BENCHMARK(instances)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
