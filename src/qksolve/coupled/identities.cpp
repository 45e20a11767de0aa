#include "qksolve/coupled/identities.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "qksolve/numerics/dense.hpp"
#include "qksolve/numerics/long_calls.hpp"

namespace qksolve::coupled {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;

double square(double x) { return x * x; }

// Keeps the place where an identity is off most.
class Worst {
 public:
  explicit Worst(const std::string& quantity) { worst_.quantity = quantity; }
  void add(double predicted, double measured, double bound) {
    const Identity next{worst_.quantity, predicted, measured, bound};
    if (empty_ || worse(next, worst_)) worst_ = next;
    empty_ = false;
  }
  const Identity& get() const { return worst_; }

 private:
  Identity worst_;
  bool empty_ = true;
};

// A computed value and a bound on its rounding error.
struct Rounded {
  double value = 0, bound = 0;
};

// log|det M| of a matrix that is itself off by up to `error` in the Frobenius norm. The triangular factors
// are those of a matrix within n u |L||U| of M, and a change dM moves the logarithm by tr(M^-1 dM).
Rounded log_abs_determinant(const MatrixXd& M, double error) {
  const MatrixXd factors = numerics::lu_factors(M);
  const double n = static_cast<double>(M.rows());
  const MatrixXd upper = factors.triangularView<Eigen::Upper>();
  const double lower_norm = std::sqrt((factors - upper).squaredNorm() + n);
  const VectorXd logs = upper.diagonal().array().abs().log();
  return {logs.sum(), numerics::inverse(M).norm() * (error + n * kUnitRoundoff * lower_norm * upper.norm()) +
                          n * kUnitRoundoff * logs.cwiseAbs().sum()};
}

// Of one stage by itself, D = Df(q) and G = Df(k).
Rounded stage_log_volume(const Stage& stage, const MatrixXd& D, const MatrixXd& G) {
  const MatrixXd one = MatrixXd::Identity(D.rows(), D.cols());
  Rounded total;
  auto add = [&](double factor, const MatrixXd& derivative) {
    if (factor == 0) return;
    const Rounded log = log_abs_determinant(
        one + factor * derivative, 2 * kUnitRoundoff * (one.norm() + std::abs(factor) * derivative.norm()));
    total.value += log.value;
    total.bound += log.bound;
  };
  add(-stage.drift * stage.kick, D);
  add(stage.query_force, D);
  add(stage.key_force, G);
  return total;
}

// M' Omega M - Omega for the stage's derivative M = [[1 + b D, a], [c D, 1 + e G]].
MatrixXd stage_defect(const Stage& stage, const MatrixXd& D, const MatrixXd& G) {
  const Index d = D.rows();
  const double a = stage.drift, b = stage.query_force, c = stage.kick, e = stage.key_force;
  MatrixXd defect(2 * d, 2 * d);
  defect.topLeftCorner(d, d) = c * (D - D.transpose());
  defect.topRightCorner(d, d) = (b - a * c) * D.transpose() + e * G + b * e * D.transpose() * G;
  defect.bottomLeftCorner(d, d) = -defect.topRightCorner(d, d).transpose();
  defect.bottomRightCorner(d, d) = a * e * (G - G.transpose());
  return defect;
}

// One token along the stages: its derivative, what is predicted of it, and the rounding errors carried back
// to the start.
struct Path {
  MatrixXd jacobian;
  double inverse_norm;        // |jacobian^-1|_F
  double jacobian_error = 0;  // computed jacobian = jacobian (1 + E), bound of |E|_F
  double state_error = 0;     // computed end = end for the start displaced by e, bound of |e|
  Rounded log_volume;         // predicted
  MatrixXd defect;            // predicted
  double defect_bound = 0;
  double symmetry_bound = 0;  // on the defect that an unsymmetric D leaves where the exact one is symmetric
};

struct Paths {
  std::vector<Path> tokens;
  State end;
};

Paths follow(const Map& map, const State& start, const numerics::Interrupt& interrupted) {
  const Index d = start.q.cols(), count = start.q.rows();
  const double root = std::sqrt(2.0 * static_cast<double>(d)), n = static_cast<double>(d);
  constexpr double u = kUnitRoundoff;
  const double asymmetry = symmetry_rounding(map.coupling);
  Paths paths{std::vector<Path>(static_cast<std::size_t>(count)), start};
  for (Path& p : paths.tokens) {
    p.jacobian = MatrixXd::Identity(2 * d, 2 * d);
    p.inverse_norm = root;
    p.defect = MatrixXd::Zero(2 * d, 2 * d);
  }
  for (const Stage& stage : stages(map)) {
    const StageDerivatives derivatives = stage_derivatives(map.coupling, stage, paths.end, interrupted);
    const State before = paths.end;
    advance(map.coupling, stage, paths.end);
    const VectorXd query_rounding = force_rounding(map.coupling, before.q),
                   key_rounding = force_rounding(map.coupling, before.k);
    const MatrixXd query_force = force(map.coupling, before.q), key_force = force(map.coupling, before.k);
    for (Index t = 0; t < count; ++t) {
      numerics::throw_if(interrupted);
      Path& p = paths.tokens[static_cast<std::size_t>(t)];
      const MatrixXd zero = MatrixXd::Zero(d, d);
      const MatrixXd D =
          derivatives.at_query.size() > 0 ? MatrixXd(derivatives.at_query.middleCols(t * d, d)) : zero;
      const MatrixXd G =
          derivatives.at_key.size() > 0 ? MatrixXd(derivatives.at_key.middleCols(t * d, d)) : zero;

      const Rounded log_volume = stage_log_volume(stage, D, G);
      p.log_volume.value += log_volume.value;
      p.log_volume.bound += log_volume.bound;

      numerics::throw_if(interrupted);
      const MatrixXd own = stage_defect(stage, D, G);
      const double on_query = std::abs(stage.query_force) + std::abs(stage.kick);
      const double size =
          1 + std::abs(stage.drift) + on_query * D.norm() + std::abs(stage.key_force) * G.norm();
      p.defect += p.jacobian.transpose() * own * p.jacobian;
      p.defect_bound += p.jacobian.squaredNorm() *
                            ((n + 4) * u * square(size) + own.norm() * (2 * p.jacobian_error + 8 * n * u)) +
                        u * p.defect.norm();

      const double query_norm = p.jacobian.topRows(d).norm(), key_norm = p.jacobian.bottomRows(d).norm();
      p.symmetry_bound += std::abs(stage.kick) * asymmetry * square(query_norm);
      const double jacobian_rounding =
          (n + 3) * u *
          (p.jacobian.norm() + std::abs(stage.drift) * key_norm + on_query * D.norm() * query_norm +
           std::abs(stage.key_force) * G.norm() * key_norm);
      numerics::throw_if(interrupted);
      advance_jacobian(stage, derivatives, t, p.jacobian);
      numerics::throw_if(interrupted);
      p.inverse_norm = numerics::inverse(p.jacobian).norm();
      p.jacobian_error += p.inverse_norm * jacobian_rounding;

      const double state_rounding =
          3 * u *
              (std::hypot(before.q.row(t).norm(), before.k.row(t).norm()) +
               std::abs(stage.drift) * before.k.row(t).norm() + on_query * query_force.row(t).norm() +
               std::abs(stage.key_force) * key_force.row(t).norm()) +
          on_query * query_rounding[t] + std::abs(stage.key_force) * key_rounding[t];
      p.state_error += p.inverse_norm * state_rounding;
    }
  }
  return paths;
}

bool preserves_symplectic_form(const Map& map) {
  return map.integrator == Integrator::standard ||
         (map.coupling.has_potential() &&
          (map.integrator == Integrator::semi_implicit || map.integrator == Integrator::leapfrog));
}

Identity volume(const Map& map, const Paths& paths, const numerics::Interrupt& interrupted) {
  const bool preserved = map.integrator == Integrator::standard ||
                         map.integrator == Integrator::semi_implicit ||
                         map.integrator == Integrator::leapfrog;
  Worst worst("log_volume");
  for (const Path& p : paths.tokens) {
    numerics::throw_if(interrupted);
    const Rounded measured = log_abs_determinant(p.jacobian, 0);
    const Rounded predicted = preserved ? Rounded{} : p.log_volume;
    worst.add(predicted.value, measured.value, measured.bound + predicted.bound + p.jacobian_error);
  }
  return worst.get();
}

Identity symplectic_defect(const Map& map, const Paths& paths, const numerics::Interrupt& interrupted) {
  Worst worst("symplectic_defect");
  for (const Path& p : paths.tokens) {
    numerics::throw_if(interrupted);
    const Index d = p.jacobian.rows() / 2;
    const double n = static_cast<double>(d);
    const auto q = p.jacobian.topRows(d), k = p.jacobian.bottomRows(d);
    MatrixXd form = q.transpose() * k - k.transpose() * q;  // J' Omega J
    const double form_norm = form.norm();
    form.topRightCorner(d, d) -= MatrixXd::Identity(d, d);
    form.bottomLeftCorner(d, d) += MatrixXd::Identity(d, d);
    const double bound =
        2 * p.jacobian_error * form_norm + (2 * n + 2) * kUnitRoundoff * p.jacobian.squaredNorm();
    if (preserves_symplectic_form(map))
      worst.add(0, form.norm(), bound + p.symmetry_bound);
    else
      worst.add(p.defect.norm(), form.norm(), bound + p.defect_bound);
  }
  return worst.get();
}

Identity reversibility(const Map& map, const State& start, const Paths& paths,
                       const numerics::Interrupt& interrupted) {
  const Paths back = follow(map, flipped(paths.end), interrupted);
  const State end = flipped(back.end);
  Worst worst("reversibility_defect");
  for (Index t = 0; t < start.q.rows(); ++t) {
    const Path &p = paths.tokens[static_cast<std::size_t>(t)],
               &p_back = back.tokens[static_cast<std::size_t>(t)];
    worst.add(0, std::hypot((end.q - start.q).row(t).norm(), (end.k - start.k).row(t).norm()),
              p.state_error + p.inverse_norm * p_back.state_error);
  }
  return worst.get();
}

Identity query_gap(const Map& map, const State& start) {
  Map euler = map;
  euler.integrator = Integrator::euler;
  const MatrixXd gap = evolve(map, start).q - evolve(euler, start).q, f = force(map.coupling, start.q);
  const double h = map.step_size, n = static_cast<double>(start.q.cols());
  Worst worst("query_gap");
  for (Index t = 0; t < start.q.rows(); ++t)
    worst.add(h * h / 2 * f.row(t).norm(), gap.row(t).norm(),
              kUnitRoundoff * (6 * start.q.row(t).norm() + 8 * h * start.k.row(t).norm() +
                               (n + 8) * h * h * f.row(t).norm()));
  return worst.get();
}

Identity score(const Map& map, const State& start, const State& end, const numerics::Interrupt& interrupted) {
  const double h = map.step_size, n = static_cast<double>(start.q.cols()), root = std::sqrt(n);
  const MatrixXd f = force(map.coupling, start.q);
  const MatrixXd measured = end.q * end.k.transpose() / root;
  const MatrixXd predicted =
      (start.q * start.k.transpose() + h * (start.k * start.k.transpose() + start.q * f.transpose()) +
       h * h * start.k * f.transpose()) /
      root;
  Worst worst("score");
  for (Index i = 0; i < measured.rows(); ++i) {
    numerics::throw_if(interrupted);
    for (Index j = 0; j < measured.cols(); ++j)
      // Each factor carries three roundings of its terms, each product n, in both forms.
      worst.add(predicted(i, j), measured(i, j),
                (2 * n + 16) * kUnitRoundoff * (start.q.row(i).norm() + h * start.k.row(i).norm()) *
                    (start.k.row(j).norm() + h * f.row(j).norm()) / root);
  }
  return worst.get();
}

// Displacement of a token's end by rounding.
double end_error(const Path& p) { return p.jacobian.norm() * p.state_error; }

Identity energy_ratio(const Map& map, const State& start, const Paths& paths) {
  const double w = map.coupling.frequency, n = static_cast<double>(start.q.cols());
  const double predicted = std::pow(1 + square(map.step_size * w), map.steps);
  auto energy = [&](const State& z, Index t) {
    return (z.k.row(t).squaredNorm() + w * w * z.q.row(t).squaredNorm()) / 2;
  };
  Worst worst("energy_ratio");
  for (Index t = 0; t < start.q.rows(); ++t) {
    const State& end = paths.end;
    const double first = energy(start, t), last = energy(end, t);
    const double slope = std::hypot(w * w * end.q.row(t).norm(), end.k.row(t).norm());
    worst.add(predicted, last / first,
              slope * end_error(paths.tokens[static_cast<std::size_t>(t)]) / first +
                  predicted * kUnitRoundoff * (2 * n + 10 + 3 * map.steps));
  }
  return worst.get();
}

Identity harmonic_invariant(const Map& map, const State& start, const Paths& paths) {
  const double w = map.coupling.frequency, h = map.step_size, n = static_cast<double>(start.q.cols());
  const bool leapfrog = map.integrator == Integrator::leapfrog;
  const double on_query = w * w * (leapfrog ? 1 - h * h * w * w / 4 : 1), mixed = leapfrog ? 0 : -h * w * w;
  auto invariant = [&](const State& z, Index t) {
    return z.k.row(t).squaredNorm() + on_query * z.q.row(t).squaredNorm() +
           mixed * z.q.row(t).dot(z.k.row(t));
  };
  auto terms = [&](const State& z, Index t) {  // sizes of what is summed
    const double q = z.q.row(t).norm(), k = z.k.row(t).norm();
    return k * k + w * w * (1 + h * h * w * w / 4) * q * q + std::abs(mixed) * q * k;
  };
  Worst worst("harmonic_invariant");
  for (Index t = 0; t < start.q.rows(); ++t) {
    const State& end = paths.end;
    const double q = end.q.row(t).norm(), k = end.k.row(t).norm();
    const double slope =
        std::hypot(2 * std::abs(on_query) * q + std::abs(mixed) * k, 2 * k + std::abs(mixed) * q);
    worst.add(invariant(start, t), invariant(end, t),
              slope * end_error(paths.tokens[static_cast<std::size_t>(t)]) +
                  (n + 8) * kUnitRoundoff * (terms(start, t) + terms(end, t)));
  }
  return worst.get();
}

Identity rotation_angle(const Map& map, const State& start, const Paths& paths) {
  const double w = map.coupling.frequency, h = map.step_size, n = static_cast<double>(start.q.cols());
  const double s = 1 - h * h * w * w / 4, scale = w * std::sqrt(s), turn = 2 * std::numbers::pi;
  const double angle = 2 * std::asin(h * w / 2) * map.steps;
  const double predicted = std::remainder(angle, turn);
  Worst worst("rotation_angle");
  for (Index t = 0; t < start.q.rows(); ++t) {
    const Eigen::RowVectorXd x = scale * start.q.row(t), y = start.k.row(t),
                             x_end = scale * paths.end.q.row(t), y_end = paths.end.k.row(t);
    double measured = std::atan2(y.dot(x_end) - x.dot(y_end), x.dot(x_end) + y.dot(y_end));
    measured += turn * std::round((predicted - measured) / turn);
    // s is off by u, relative u/s, which moves the angle of a step by as much and the scale of x by half.
    const double radius = std::sqrt(x.squaredNorm() + y.squaredNorm());
    worst.add(predicted, measured,
              std::max(scale, 1.0) * end_error(paths.tokens[static_cast<std::size_t>(t)]) / radius +
                  kUnitRoundoff * (2 * n + 12 + 4 / s + 2 * map.steps * (1 / std::sqrt(s) + 1) + 4 * angle));
  }
  return worst.get();
}

numerics::GeneralEigen general_eigen(const MatrixXd& M, const numerics::Interrupt& interrupted) {
  return numerics::abandon_if(interrupted, [M] { return numerics::general_eigen(M); });
}

Identity spectral_radius(const Map& map, Index dimension, const numerics::Interrupt& interrupted) {
  Map step = map;
  step.steps = 1;
  const State origin{MatrixXd::Zero(1, dimension), MatrixXd::Zero(1, dimension)};
  const MatrixXd J = jacobians(step, origin, interrupted).front();
  const numerics::GeneralEigen measured = general_eigen(J, interrupted),
                               ofA = general_eigen(map.coupling.A, interrupted);
  const double h = map.step_size, n = static_cast<double>(dimension);
  // Bauer and Fike: an eigenvalue moves by at most the condition of the eigenvectors times the perturbation,
  // which for the QR algorithm is a few u |M|_F, and n u |M|_F to be safe.
  const double shift = ofA.condition * 2 * n * kUnitRoundoff * map.coupling.A.norm();
  double radius = 0, root_shift = 0;
  for (const std::complex<double>& lambda : ofA.values) {
    const std::complex<double> root = std::sqrt(lambda);
    radius = std::max({radius, std::abs(1.0 + h * root), std::abs(1.0 - h * root)});
    root_shift = std::max(root_shift, std::abs(root) > 0 ? std::min(shift / std::abs(root), std::sqrt(shift))
                                                         : std::sqrt(shift));
  }
  return {"spectral_radius", radius, measured.values.cwiseAbs().maxCoeff(),
          measured.condition * 4 * n * kUnitRoundoff * J.norm() + h * root_shift};
}

}  // namespace

bool Identity::holds() const {
  return std::isfinite(predicted) && std::isfinite(measured) && std::isfinite(bound) &&
         std::abs(difference()) <= bound;
}

bool worse(const Identity& a, const Identity& b) {
  auto relative = [](const Identity& x) {
    const double off = std::abs(x.difference());
    if (off == 0 && std::isfinite(x.bound)) return 0.0;
    const double ratio = off / x.bound;
    return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
  };
  return relative(a) > relative(b);
}

std::vector<Identity> identities(const Map& map, const State& start, const numerics::Interrupt& interrupted) {
  const Integrator integrator = map.integrator;
  const bool harmonic = map.coupling.kind == CouplingKind::harmonic;
  const Paths paths = follow(map, start, interrupted);
  std::vector<Identity> found{volume(map, paths, interrupted), symplectic_defect(map, paths, interrupted)};
  if (integrator == Integrator::leapfrog) {
    found.push_back(reversibility(map, start, paths, interrupted));
    if (map.steps == 1) found.push_back(query_gap(map, start));
  }
  if (integrator == Integrator::euler) {
    if (map.steps == 1) found.push_back(score(map, start, paths.end, interrupted));
    if (harmonic) found.push_back(energy_ratio(map, start, paths));
    if (map.coupling.kind == CouplingKind::linear)
      found.push_back(spectral_radius(map, start.q.cols(), interrupted));
  }
  if (harmonic && (integrator == Integrator::leapfrog || integrator == Integrator::semi_implicit))
    found.push_back(harmonic_invariant(map, start, paths));
  if (harmonic && integrator == Integrator::leapfrog && map.step_size > 0 && map.coupling.frequency > 0 &&
      is_stable(map) == true)
    found.push_back(rotation_angle(map, start, paths));
  return found;
}

std::optional<bool> is_stable(const Map& map) {
  if (map.coupling.kind != CouplingKind::harmonic) return std::nullopt;
  if (map.integrator != Integrator::leapfrog && map.integrator != Integrator::semi_implicit)
    return std::nullopt;
  return map.step_size * map.coupling.frequency < 2;
}

}  // namespace qksolve::coupled
