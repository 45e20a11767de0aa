#include "qksolve/coupled/attention.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "qksolve/numerics/long_calls.hpp"
#include "qksolve/numerics/singular_values.hpp"

namespace qksolve::coupled {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;

double mean_of_squares(const VectorXd& x) { return x.squaredNorm() / static_cast<double>(x.size()); }
double variance(const VectorXd& x) { return mean_of_squares(x.array() - x.mean()); }

// Queries and keys of one token are coupled by drift and kicks.
bool couples(Integrator integrator) {
  return integrator != Integrator::standard && integrator != Integrator::uncoupled;
}

}  // namespace

MatrixXd attention_logits(const State& state, const numerics::Interrupt& interrupted) {
  return numerics::product(state.k, state.q.transpose() / std::sqrt(static_cast<double>(state.q.cols())),
                           interrupted);
}

VectorXd softmax_columns(MatrixXd& logits, const numerics::Interrupt& interrupted) {
  VectorXd entropy(logits.cols());
  for (Index i = 0; i < logits.cols(); ++i) {
    numerics::throw_if(interrupted);
    auto column = logits.col(i).array();
    const ArrayXd below_largest = column - column.maxCoeff();
    column = below_largest.exp();
    const double sum = column.sum();
    column /= sum;
    entropy[i] = std::log(sum) - (column * below_largest).sum();
  }
  return entropy;
}

std::vector<Observation> measure_attention(const State& state, const numerics::RandomStream& probes,
                                           const numerics::Interrupt& interrupted) {
  const Index T = state.q.rows();
  if (T < 2) throw std::invalid_argument("a context has at least 2 tokens");
  const double tokens = static_cast<double>(T), pairs = tokens * (tokens - 1);
  MatrixXd a = attention_logits(state, interrupted);
  const VectorXd diagonal = a.diagonal();
  const double mean = (a.sum() - diagonal.sum()) / pairs;
  numerics::throw_if(interrupted);
  const double square = (a.array() - mean).square().sum() - (diagonal.array() - mean).square().sum();
  const VectorXd entropy = softmax_columns(a, interrupted);
  numerics::throw_if(interrupted);
  const double concentration = tokens * a.colwise().squaredNorm().mean(), self = a.diagonal().sum();
  const numerics::SpectrumSummary spectrum =
      numerics::summarize_spectrum(a, probes, numerics::kFullSpectrum, interrupted);
  const double rounding = tokens * kUnitRoundoff * spectrum.first;
  Observation ratio{"sigma_ratio",
                    spectrum.first / spectrum.second,
                    spectrum.leading_error * (1 + spectrum.first / spectrum.second) / spectrum.second,
                    {}};
  if (spectrum.second <= kAboveRounding * rounding)
    ratio.unknown = "the second singular value is not above its rounding errors";
  return {{"diagonal_logit_mean", diagonal.mean(), 0, {}},
          {"diagonal_logit_variance", variance(diagonal), 0, {}},
          {"offdiagonal_logit_mean", mean, 0, {}},
          {"offdiagonal_logit_variance", square / pairs, 0, {}},
          {"entropy", entropy.mean(), 0, {}},
          {"concentration", concentration, 0, {}},
          {"self_attention", self, 0, {}},
          {"sigma_1", spectrum.first, spectrum.leading_error, {}},
          ratio,
          {"effective_rank", spectrum.effective_rank, spectrum.effective_rank_truncation, {}}};
}

std::vector<std::optional<double>> predict_attention(const Map& map, const State& reference, int context,
                                                     bool standard_normal,
                                                     const numerics::Interrupt& interrupted) {
  const Index half = reference.q.rows() / 2;
  const double d = static_cast<double>(reference.q.cols()), root = std::sqrt(d), h = map.step_size,
               T = static_cast<double>(context), count = static_cast<double>(half);
  const State evolved = evolve(map, reference, interrupted);
  const auto q = evolved.q.topRows(half), k = evolved.k.bottomRows(half);
  const double off_mean = q.colwise().mean().dot(k.colwise().mean()) / root;
  const double off_variance =
      (q.transpose() * q).cwiseProduct(k.transpose() * k).sum() / (count * count * d) - off_mean * off_mean;
  std::optional<double> mean, spread;
  if (standard_normal) {
    mean = off_mean;
    if (!couples(map.integrator)) spread = off_variance;
    if (couples(map.integrator)) {
      const bool exact = map.integrator == Integrator::euler && map.steps == 1;
      VectorXd divergences(reference.q.rows());
      MatrixXd f(exact ? reference.q.rows() : 0, reference.q.cols());
      for_token_groups(map.coupling, reference.q.rows(), [&](Index first, Index count) {
        numerics::throw_if(interrupted);
        const MatrixXd group = reference.q.middleRows(first, count);
        divergences.segment(first, count) = force_divergence(map.coupling, group);
        if (exact) f.middleRows(first, count) = force(map.coupling, group);
      });
      const double divergence = divergences.mean();
      mean = root * map.steps * h * (1 + divergence / d);
      if (exact) {
        const VectorXd along = reference.q.cwiseProduct(f).rowwise().sum();
        const double f_square = f.rowwise().squaredNorm().mean();
        spread = 1 + 2 * h * h + h * h * (variance(along) + 2 * divergence + h * h * f_square) / d;
      }
    }
  }
  std::optional<double> self, ratio;
  if (mean && spread) self = std::exp(*mean - off_mean + (*spread - off_variance) / 2);
  if (map.integrator == Integrator::standard && standard_normal)
    ratio = T * root / ((std::sqrt(T) + root) * (std::sqrt(T) + root));
  return {mean, spread, off_mean, off_variance, std::log(T) - off_variance / 2, std::exp(off_variance), self,
          1.0,  ratio,  {}};
}

namespace {

// Of the rows of (a, b), or of a.
double mean_norm(const MatrixXd& a, const MatrixXd& b = {}) {
  VectorXd squares = a.rowwise().squaredNorm();
  if (b.size() > 0) squares += b.rowwise().squaredNorm();
  double sum = 0;
  for (const double square : squares) sum += std::sqrt(square);
  return sum / static_cast<double>(a.rows());
}

VectorXd energy(const Coupling& coupling, const State& z) {
  return 0.5 * z.k.rowwise().squaredNorm() + potential(coupling, z.q);
}

// Bounds on the rounding errors that one stage makes of every token's q and k.
struct StageRounding {
  VectorXd q, k;
};
StageRounding stage_rounding(const Coupling& c, const Stage& stage, const State& before) {
  const VectorXd q = before.q.rowwise().norm(), k = before.k.rowwise().norm(),
                 f = force(c, before.q).rowwise().norm(), g = force(c, before.k).rowwise().norm(),
                 f_error = force_rounding(c, before.q), g_error = force_rounding(c, before.k);
  const double a = std::abs(stage.drift), b = std::abs(stage.query_force), kick = std::abs(stage.kick),
               e = std::abs(stage.key_force);
  return {3 * kUnitRoundoff * (q + a * k + b * f) + b * f_error,
          3 * kUnitRoundoff * (k + kick * f + e * g) + kick * f_error + e * g_error};
}

// Mean over the tokens of how far rounding moves the end of the map, to leading order in n h.
double end_rounding(const Map& map, State z) {
  double sum = 0;
  for (const Stage& stage : stages(map)) {
    const StageRounding rounding = stage_rounding(map.coupling, stage, z);
    sum += rounding.q.mean() + rounding.k.mean();
    advance(map.coupling, stage, z);
  }
  return sum;
}

// H_n - H_0 of every token, and bounds on the rounding errors.
struct EnergyChange {
  VectorXd value, rounding;
  double size() const { return std::sqrt(mean_of_squares(value)); }
  double relative_rounding() const { return std::sqrt(mean_of_squares(rounding)) / size(); }
};

// The map keeps the energy to leading order, so an error of the state counts with the slope of the energy
// where it was made.
EnergyChange energy_change(const Map& map, const State& start, const numerics::Interrupt& interrupted) {
  const Coupling& c = map.coupling;
  const double n = static_cast<double>(start.q.cols());
  const auto evaluation = [&](const State& z) -> VectorXd {
    return (n + 2) * kUnitRoundoff * (0.5 * z.k.rowwise().squaredNorm() + potential(c, z.q).cwiseAbs()) +
           potential_rounding(c, z.q);
  };
  EnergyChange change{{}, evaluation(start)};
  State z = start;
  for (const Stage& stage : stages(map)) {
    numerics::throw_if(interrupted);
    const StageRounding rounding = stage_rounding(c, stage, z);
    change.rounding += force(c, z.q).rowwise().norm().cwiseProduct(rounding.q) +
                       z.k.rowwise().norm().cwiseProduct(rounding.k);
    advance(c, stage, z);
  }
  change.value = energy(c, z) - energy(c, start);
  change.rounding += evaluation(z);
  return change;
}

// Of the energy with h/2^level and h/2^(level + 1).
Observation energy_order(const Map& map, const State& start, int level,
                         const numerics::Interrupt& interrupted) {
  const auto finer = [&](int halvings) {
    Map map_there = map;
    map_there.steps = map.steps << halvings;
    map_there.step_size = std::ldexp(map.step_size, -halvings);
    return energy_change(map_there, start, interrupted);
  };
  const EnergyChange coarse = finer(level), fine = finer(level + 1);
  Observation order{"energy_order",
                    std::log2(coarse.size() / fine.size()),
                    std::hypot(coarse.relative_rounding(), fine.relative_rounding()) / std::numbers::ln2,
                    {}};
  if (std::isfinite(fine.size()) && !(fine.relative_rounding() * kAboveRounding <= 1))
    order.unknown = "the change of the energy is not above its rounding errors";
  return order;
}

}  // namespace

std::vector<Observation> observe_dynamics(const Map& map, const State& start,
                                          const numerics::Interrupt& interrupted) {
  const Integrator integrator = map.integrator;
  const double h = map.step_size;
  if (integrator == Integrator::standard) return {};
  std::vector<Observation> found;
  const State end = evolve(map, start, interrupted);
  const MatrixXd f = force(map.coupling, start.q), D = force_derivative(map.coupling, start.q, interrupted);
  const Index d = start.q.cols();
  MatrixXd Dk(start.k.rows(), d);
  for (Index t = 0; t < start.k.rows(); ++t)
    Dk.row(t) = (D.middleCols(t * d, d) * start.k.row(t).transpose()).transpose();

  const bool coupled_not_reversible =
      integrator == Integrator::euler || integrator == Integrator::semi_implicit;
  if (integrator != Integrator::leapfrog) {  // whose defect is an exact statement
    const State back = flipped(evolve(map, flipped(end), interrupted));
    Observation defect{"reversibility_defect", 0, 0, {}};
    defect.measured = mean_norm(back.q - start.q, back.k - start.k);
    defect.measured_error = end_rounding(map, start) + end_rounding(map, flipped(end));
    if (coupled_not_reversible) defect.predicted = map.steps * h * h * mean_norm(f, Dk);
    found.push_back(defect);
  }
  if (integrator == Integrator::leapfrog && map.steps == 1) {
    Map euler = map;
    euler.integrator = Integrator::euler;
    found.push_back({"key_gap", mean_norm(end.k - evolve(euler, start, interrupted).k),
                     end_rounding(map, start) + end_rounding(euler, start), h * h / 2 * mean_norm(Dk)});
  }
  if (map.coupling.has_potential()) {
    const EnergyChange change = energy_change(map, start, interrupted);
    Observation drift{"energy_drift", change.value.mean(), change.rounding.mean(), {}};
    if (integrator == Integrator::euler)
      drift.predicted = map.steps * h * h / 2 *
                        (f.rowwise().squaredNorm() - start.k.cwiseProduct(Dk).rowwise().sum()).mean();
    found.push_back(drift);
    if (couples(integrator) && h > 0 && map.steps > 0) {
      Observation order = energy_order(map, start, 3, interrupted);
      order.predicted = integrator == Integrator::leapfrog ? 2.0 : 1.0;
      order.measured_error = std::hypot(order.measured - energy_order(map, start, 2, interrupted).measured,
                                        order.measured_error);
      found.push_back(order);
    }
  }
  return found;
}

}  // namespace qksolve::coupled
