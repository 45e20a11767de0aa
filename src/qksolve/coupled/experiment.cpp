#include "qksolve/coupled/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "qksolve/coupled/draws.hpp"
#include "qksolve/coupled/identities.hpp"
#include "qksolve/numerics/parallel.hpp"
#include "qksolve/numerics/statistics.hpp"

namespace qksolve::coupled {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index kReferenceTokens = 16384;
const std::string kOverflowed = "a value overflowed (a smaller step may help)";

// A setting by itself, or with attention over a context.
struct Unit {
  Setting setting;
  std::optional<int> context;
};

struct Outcome {
  std::vector<Identity> identities;
  std::vector<Observation> observations;
};

std::vector<Unit> units(const Experiment& experiment) {
  std::vector<Unit> all;
  for (const Setting& setting : experiment.settings) {
    all.push_back({setting, {}});
    for (const int context : experiment.contexts) all.push_back({setting, context});
  }
  return all;
}

Map draw_map(const Experiment& e, const Setting& s, std::uint64_t instance,
             const numerics::Interrupt& interrupted) {
  return {
      s.integrator,
      draw_coupling({s.coupling, e.dimension, e.hidden, e.scale, e.frequency, e.seed, instance}, interrupted),
      s.step_size, s.steps};
}

State draw_state(const Experiment& e, std::uint64_t instance, Purpose queries, Purpose keys, Index tokens,
                 const numerics::Interrupt& interrupted) {
  auto draw = [&](Purpose purpose, Index columns) {
    return draw_normals(random_stream(e.seed, instance, purpose), tokens, columns, interrupted);
  };
  if (e.projections) {
    const MatrixXd x = draw(queries, e.projections->query.rows());
    return {x * e.projections->query, x * e.projections->key};
  }
  return {draw(queries, e.dimension), draw(keys, e.dimension)};
}

Outcome run_draw(const Experiment& e, const Unit& unit, std::uint64_t instance,
                 const numerics::Interrupt& interrupted) {
  const Map map = draw_map(e, unit.setting, instance, interrupted);
  const State start = draw_state(e, instance, Purpose::queries, Purpose::keys,
                                 unit.context ? *unit.context : e.states, interrupted);
  if (!unit.context) return {identities(map, start, interrupted), observe_dynamics(map, start, interrupted)};
  const State reference = draw_state(e, instance, Purpose::reference_queries, Purpose::reference_keys,
                                     kReferenceTokens, interrupted);
  const auto predicted = predict_attention(map, reference, *unit.context, !e.projections, interrupted);
  std::vector<Observation> observed = measure_attention(
      evolve(map, start, interrupted), random_stream(e.seed, instance, Purpose::probes), interrupted);
  for (std::size_t i = 0; i < observed.size(); ++i) observed[i].predicted = predicted[i];
  return {{}, observed};
}

Finding finding_of(const Unit& unit, const Identity& identity) {
  Finding f{unit.setting,          unit.context,   identity.quantity,  true,
            identity.measured,     identity.bound, identity.predicted, 0.0,
            identity.difference(), identity.bound, Verdict::converged, ""};
  if (identity.holds()) return f;
  if (std::isfinite(identity.difference()) && std::isfinite(identity.bound)) {
    f.verdict = Verdict::failed;
    f.reason = "off by more than rounding allows";
  } else {
    f.verdict = Verdict::non_finite;
    f.reason = kOverflowed;
  }
  return f;
}

Finding finding_of(const Unit& unit, const std::vector<Outcome>& draws, std::size_t which) {
  const Observation& first = draws.front().observations[which];
  const Index count = static_cast<Index>(draws.size());
  VectorXd measured(count), method(count), predicted(count);
  for (Index i = 0; i < count; ++i) {
    const Observation& o = draws[static_cast<std::size_t>(i)].observations[which];
    measured[i] = o.measured;
    method[i] = o.measured_error;
    predicted[i] = o.predicted.value_or(0);
  }
  Finding f;
  f.setting = unit.setting;
  f.context = unit.context;
  f.quantity = first.quantity;
  if (first.predicted && predicted.allFinite()) {
    const numerics::MeanEstimate p = numerics::mean_estimate(predicted);
    f.predicted = p.mean;
    f.predicted_error = p.error;
  }
  for (const Outcome& draw : draws)
    if (const std::string& unknown = draw.observations[which].unknown; !unknown.empty()) {
      f.verdict = Verdict::unknown;
      f.reason = unknown;
      return f;
    }
  const numerics::MeanEstimate m = numerics::mean_estimate(measured);
  const double error = std::hypot(m.error.value(), method.mean());
  if (!std::isfinite(m.mean) || !std::isfinite(error)) {
    f.verdict = Verdict::non_finite;
    f.reason = kOverflowed;
    return f;
  }
  f.measured = m.mean;
  f.measured_error = error;
  if (f.predicted) {
    const numerics::MeanEstimate difference = numerics::mean_estimate(measured - predicted);
    f.difference = difference.mean;
    f.difference_error = std::hypot(difference.error.value(), method.mean());
  }
  return f;
}

}  // namespace

std::size_t task_count(const Experiment& e) {
  return e.settings.size() * (1 + e.contexts.size()) * static_cast<std::size_t>(e.draws);
}

std::vector<Finding> run_experiment(
    const Experiment& experiment, int threads, const numerics::Interrupt& interrupted,
    const std::function<void(const Setting&, std::optional<int> context)>& done) {
  const std::vector<Unit> all = units(experiment);
  const auto draws = static_cast<std::size_t>(experiment.draws);
  std::vector<std::vector<Outcome>> outcomes(all.size(), std::vector<Outcome>(draws));
  // The largest contexts first, so that no thread is left with one at the end.
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return all[a].context.value_or(0) > all[b].context.value_or(0);
  });
  std::mutex mutex;
  std::vector<std::size_t> finished(all.size(), 0);
  try {
    numerics::parallel_for(
        static_cast<std::ptrdiff_t>(all.size() * draws), threads, 1,
        [&] {
          return [&](std::ptrdiff_t task) {
            const std::size_t unit = order[static_cast<std::size_t>(task) / draws],
                              draw = static_cast<std::size_t>(task) % draws;
            Outcome outcome = run_draw(experiment, all[unit], draw, interrupted);
            const std::scoped_lock lock(mutex);
            outcomes[unit][draw] = std::move(outcome);
            ++finished[unit];
            if (done) done(all[unit].setting, all[unit].context);
          };
        },
        interrupted);
  } catch (const numerics::Interrupted&) {  // what is complete is kept
  }

  std::vector<Finding> findings;
  for (std::size_t u = 0; u < all.size(); ++u) {
    if (finished[u] < draws) continue;
    const std::vector<Outcome>& of_unit = outcomes[u];
    for (std::size_t i = 0; i < of_unit.front().identities.size(); ++i) {
      Identity worst = of_unit.front().identities[i];
      for (const Outcome& outcome : of_unit)
        if (worse(outcome.identities[i], worst)) worst = outcome.identities[i];
      findings.push_back(finding_of(all[u], worst));
    }
    for (std::size_t i = 0; i < of_unit.front().observations.size(); ++i)
      findings.push_back(finding_of(all[u], of_unit, i));
  }
  return findings;
}

}  // namespace qksolve::coupled
