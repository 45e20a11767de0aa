#include "qksolve/phase/finite_size/message_passing.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "qksolve/phase/two_token/proximal.hpp"
#include "qksolve/phase/two_token/teacher.hpp"

namespace qksolve::phase {

using Eigen::MatrixXd;
using numerics::kLanes;
using numerics::MinimizerStatus;
using numerics::Pack;

namespace {

constexpr double kRootHalf = 1.0 / std::numbers::sqrt2;
constexpr int kRecent = 100;

}  // namespace

Pack proximal_slope(const ProximalPoint& point, double tau) {
  const Pack jww = 1.0 + tau * point.loss.dww, jyy = 1.0 + tau * point.loss.dyy, jwy = tau * point.loss.dwy;
  return (jww + jyy) / (jww * jyy - jwy * jwy) - 2.0;
}

bool by_parts(Response response, double q, double free_variance) {
  return response == Response::total && free_variance >= 1e-3 * q;
}

double precision_from_slope(double lambda, double v) { return std::max(lambda + v, 0.5 * lambda); }

template <class Store>
MessagePassingResult message_passing(const FiniteSize<Store>& instance, const MatrixXd& start,
                                     const MessagePassingOptions& options,
                                     const std::function<bool(const MessagePassingStep&)>& observe) {
  const Model& model = instance.model();
  if (!is_two_token(model))
    throw std::invalid_argument("message passing needs two tokens of equal sigma at rank one");
  const double d = static_cast<double>(instance.draw().dimension);
  const double variance = model.sigma[0] * model.sigma[0], weight = 1.0 - options.damping;
  const double b1 = model.positional_matrix(0, 0), b2 = model.positional_matrix(1, 0);
  const MatrixXd& e = instance.directions();
  const MatrixXd& teacher = instance.teacher();

  MatrixXd Q = start, gradient;
  MatrixXd memory = MatrixXd::Zero(2, instance.draw().samples), force = memory;
  double V = options.variance;
  std::vector<char> well(static_cast<std::size_t>(instance.draw().samples));
  std::vector<int> switched(well.size(), -1);  // iteration of the last change of wells
  auto finish = [&](int iterations, MinimizerStatus status) {
    const double value = instance.risk(Q, &gradient);
    const std::int64_t switching = std::count_if(switched.begin(), switched.end(), [&](int iteration) {
      return iteration > 0 && iteration >= iterations - kRecent;
    });
    return MessagePassingResult{{Q.col(0), value, gradient.norm(), iterations, status}, V, switching};
  };
  for (int iteration = 0;; ++iteration) {
    const bool go_on = !observe || observe({iteration, Q, V});
    if (!go_on || iteration == options.iterations) return finish(iteration, MinimizerStatus::iteration_limit);

    const double m = Q.col(0).dot(e.col(0)) / std::sqrt(d), q = Q.squaredNorm() / d;
    const double rho = teacher.squaredNorm() / d, theta = Q.col(0).dot(teacher.col(0)) / d;
    const double noise_variance =
        q - theta * theta / rho;  // of the part of the field that is independent of h*
    const bool classical_slope = !by_parts(options.response, q, noise_variance);
    double slope = 0, positional_force = 0;
    MatrixXd gamma = instance.sweep(Q, [&](std::int64_t first, int count, MatrixXd& h) {
      TwoTokenLabel label{numerics::broadcast(0.5), numerics::broadcast(0.5)};
      Pack x{}, s{};
      double field[2][kLanes] = {};
      for (int i = 0; i < count; ++i) {
        const auto T = instance.attention(first + i);
        label.t1[i] = T(0, 0);
        label.t2[i] = T(1, 1);
        field[0][i] = h(0, i) + b1 * m - variance * memory(0, first + i);
        field[1][i] = h(1, i) + b2 * m - variance * memory(1, first + i);
        x[i] = kRootHalf * (field[0][i] - field[1][i]);
        s[i] = kRootHalf * (field[0][i] + field[1][i]);
      }
      const double tau = variance * variance * V;
      const ProximalPoint point = two_token_proximal(label, tau, x, s);
      const Pack fw = (point.w - x) / (variance * V), fy = (point.y - s) / (variance * V);
      const Pack classical = proximal_slope(point, tau) / (variance * V);
      for (int i = 0; i < count; ++i) {
        // The ridge w = 0 separates the two wells.
        const auto sample = static_cast<std::size_t>(first + i);
        const char side = point.w[i] > 0 ? 1 : 0;
        if (side != well[sample]) switched[sample] = iteration;
        well[sample] = side;
        const double f[2] = {kRootHalf * (fy[i] + fw[i]), kRootHalf * (fy[i] - fw[i])};
        if (classical_slope) {
          slope += classical[i];
        } else {
          const auto teacher_h = instance.teacher_preactivation(first + i);
          for (int l = 0; l < 2; ++l)
            slope += f[l] * (field[l][i] - (l == 0 ? b1 : b2) * m - theta / rho * teacher_h(l, 0)) /
                     (variance * noise_variance);
        }
        positional_force += b1 * f[0] + b2 * f[1];
        for (int l = 0; l < 2; ++l) h(l, i) = force(l, first + i) = f[l];
      }
    });
    const double v = -variance * slope / d, precision = precision_from_slope(model.lambda, v),
                 next_V = 1.0 / precision;
    gamma += positional_force / std::sqrt(d) * e.col(0) + (precision - model.lambda) * Q;
    const MatrixXd next_Q = options.damping * Q + weight * next_V * gamma;
    if (!std::isfinite(next_V) || !next_Q.allFinite()) return finish(iteration, MinimizerStatus::non_finite);
    const double residual = (precision * Q - gamma).norm();
    if (residual <= options.tolerance && std::abs(next_V - V) <= options.tolerance * V)
      return finish(iteration, MinimizerStatus::converged);
    Q = next_Q;
    memory = options.damping * memory + weight * next_V * force;
    V = options.damping * V + weight * next_V;
  }
}

template MessagePassingResult message_passing(const FiniteSize<double>&, const MatrixXd&,
                                              const MessagePassingOptions&,
                                              const std::function<bool(const MessagePassingStep&)>&);
template MessagePassingResult message_passing(const FiniteSize<float>&, const MatrixXd&,
                                              const MessagePassingOptions&,
                                              const std::function<bool(const MessagePassingStep&)>&);

}  // namespace qksolve::phase
