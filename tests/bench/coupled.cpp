// The coupled map at d = 64: Jacobian determinants, and attention of long contexts with its spectrum.
#include <benchmark/benchmark.h>

#include "qksolve/coupled/attention.hpp"
#include "qksolve/coupled/draws.hpp"

namespace {

using namespace qksolve::coupled;

State tokens(int count) {
  return {draw_normals(random_stream(0, 0, Purpose::queries), count, 64),
          draw_normals(random_stream(0, 0, Purpose::keys), count, 64)};
}

void determinants_of_1000_tokens(benchmark::State& state) {
  const Map map{Integrator::leapfrog, draw_coupling({}), 0.3, static_cast<int>(state.range(0))};
  const State start = tokens(1000);
  for (auto _ : state)
    benchmark::DoNotOptimize(log_abs_determinants(map, start, static_cast<int>(state.range(1))));
}
BENCHMARK(determinants_of_1000_tokens)
    ->ArgNames({"steps", "threads"})
    ->ArgsProduct({{1, 3, 7}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void attention(benchmark::State& state) {
  const Map map{Integrator::leapfrog, draw_coupling({}), 0.3, 1};
  const State start = tokens(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(measure_attention(evolve(map, start), {}));
}
BENCHMARK(attention)->ArgName("tokens")->RangeMultiplier(2)->Range(256, 4096)->Unit(benchmark::kMillisecond);

}  // namespace
