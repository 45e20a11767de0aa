#include "qksolve/coupled/coupling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "qksolve/coupled/draws.hpp"
#include "qksolve/numerics/long_calls.hpp"

namespace qksolve::coupled {

using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;

// silu(x) = x s(x) with s the logistic function, and its first two derivatives.
ArrayXXd logistic(const MatrixXd& x) { return (1.0 + (-x.array()).exp()).inverse(); }
ArrayXXd silu(const MatrixXd& x) { return x.array() * logistic(x); }
ArrayXXd silu_slope(const MatrixXd& x) {
  const ArrayXXd s = logistic(x);
  return s * (1.0 + x.array() * (1.0 - s));
}
ArrayXXd silu_curvature(const MatrixXd& x) {
  const ArrayXXd s = logistic(x);
  return s * (1.0 - s) * (2.0 + x.array() * (1.0 - 2.0 * s));
}

// Df of a network is left diag(slopes) W1; one row of slopes per token.
struct Factors {
  MatrixXd left;    // d x hidden
  MatrixXd slopes;  // T x hidden
};
Factors network_derivative(const Coupling& c, const MatrixXd& x) {
  const MatrixXd inner = x * c.W1.transpose();
  if (c.kind == CouplingKind::mlp) return {c.W2, silu_slope(inner)};
  return {-c.W1.transpose(), silu_curvature(inner).rowwise() * c.v.transpose().array()};
}

bool is_network(const Coupling& c) { return c.kind == CouplingKind::mlp || c.kind == CouplingKind::gradient; }

}  // namespace

std::string coupling_name(CouplingKind kind) {
  switch (kind) {
    case CouplingKind::mlp:
      return "mlp";
    case CouplingKind::gradient:
      return "gradient";
    case CouplingKind::linear:
      return "linear";
    default:
      return "harmonic";
  }
}

void Coupling::validate(Index dimension) const {
  auto require = [](bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
  };
  if (is_network(*this)) require(W1.rows() >= 1 && W1.cols() == dimension, "W1 must be hidden x d");
  if (kind == CouplingKind::mlp)
    require(W2.rows() == dimension && W2.cols() == W1.rows(), "W2 must be d x hidden");
  if (kind == CouplingKind::gradient) require(v.size() == W1.rows(), "v must have an entry per hidden unit");
  if (kind == CouplingKind::linear)
    require(A.rows() == dimension && A.cols() == dimension, "A must be d x d");
}

Coupling draw_coupling(const CouplingDraw& draw, const numerics::Interrupt& interrupted) {
  if (draw.dimension < 1 || draw.hidden < 1) throw std::invalid_argument("a coupling needs d, hidden >= 1");
  Coupling c;
  c.kind = draw.kind;
  c.frequency = draw.frequency;
  const double d = draw.dimension, hidden = draw.hidden;
  auto weights = [&](Purpose purpose, Index rows, Index columns, double variance) -> MatrixXd {
    return draw.scale * std::sqrt(variance) *
           draw_normals(random_stream(draw.seed, draw.instance, purpose), rows, columns, interrupted);
  };
  if (is_network(c)) c.W1 = weights(Purpose::first_weights, draw.hidden, draw.dimension, 1 / d);
  if (c.kind == CouplingKind::mlp)
    c.W2 = weights(Purpose::second_weights, draw.dimension, draw.hidden, 1 / hidden);
  if (c.kind == CouplingKind::gradient) c.v = weights(Purpose::second_weights, draw.hidden, 1, d / hidden);
  if (c.kind == CouplingKind::linear)
    c.A = weights(Purpose::linear_weights, draw.dimension, draw.dimension, 1 / d);
  return c;
}

void for_token_groups(const Coupling& c, Index tokens, const std::function<void(Index, Index)>& work) {
  // A multiple of the rows that the kernels of matrix products take at once: the bits are those of one
  // product.
  constexpr Index least = 96, hidden_units = Index{1} << 22;
  const Index hidden = std::max<Index>(c.W1.rows(), 1),
              width = std::max<Index>(hidden_units / hidden / least, 1) * least;
  for (Index first = 0; first < tokens;) {
    const Index count = tokens - first < 2 * width ? tokens - first : width;
    work(first, count);
    first += count;
  }
}

MatrixXd force(const Coupling& c, const MatrixXd& x) {
  switch (c.kind) {
    case CouplingKind::mlp:
      return silu(x * c.W1.transpose()).matrix() * c.W2.transpose();
    case CouplingKind::gradient:
      return -(silu_slope(x * c.W1.transpose()).rowwise() * c.v.transpose().array()).matrix() * c.W1;
    case CouplingKind::linear:
      return x * c.A.transpose();
    default:
      return -(c.frequency * c.frequency) * x;
  }
}

MatrixXd force_derivative(const Coupling& c, const MatrixXd& x, const numerics::Interrupt& interrupted) {
  const Index d = x.cols(), tokens = x.rows();
  if (c.kind == CouplingKind::linear) return c.A.replicate(1, tokens);
  if (c.kind == CouplingKind::harmonic)
    return (-(c.frequency * c.frequency) * MatrixXd::Identity(d, d)).replicate(1, tokens);
  // One product for all tokens.
  const Factors f = network_derivative(c, x);
  MatrixXd right(c.W1.rows(), tokens * d);
  for (Index t = 0; t < tokens; ++t) {
    numerics::throw_if(interrupted);
    right.middleCols(t * d, d) = f.slopes.row(t).transpose().asDiagonal() * c.W1;
  }
  return numerics::product(f.left, right, interrupted);
}

VectorXd force_divergence(const Coupling& c, const MatrixXd& x) {
  if (c.kind == CouplingKind::linear) return VectorXd::Constant(x.rows(), c.A.trace());
  if (c.kind == CouplingKind::harmonic)
    return VectorXd::Constant(x.rows(), -(c.frequency * c.frequency) * static_cast<double>(x.cols()));
  const Factors f = network_derivative(c, x);
  return f.slopes * f.left.transpose().cwiseProduct(c.W1).rowwise().sum();
}

VectorXd potential(const Coupling& c, const MatrixXd& x) {
  if (c.kind == CouplingKind::gradient) return silu(x * c.W1.transpose()).matrix() * c.v;
  if (c.kind == CouplingKind::harmonic) return 0.5 * c.frequency * c.frequency * x.rowwise().squaredNorm();
  throw std::invalid_argument("the coupling " + coupling_name(c.kind) + " has no potential");
}

VectorXd force_rounding(const Coupling& c, const MatrixXd& x) {
  const VectorXd norms = x.rowwise().norm();
  const double d = static_cast<double>(x.cols()), hidden = static_cast<double>(c.W1.rows());
  constexpr double u = kUnitRoundoff;
  // |silu(y)| <= |y|, slope of silu below 1.1 and curvature at most 1/2 in size; each of silu and silu' costs
  // less than 10 roundings.
  switch (c.kind) {
    case CouplingKind::mlp:
      return u * (1.1 * d + 10 + hidden) * c.W1.norm() * c.W2.norm() * norms;
    case CouplingKind::gradient:
      return u * c.W1.norm() *
             (0.5 * d * c.v.cwiseAbs().maxCoeff() * c.W1.norm() * norms.array() +
              1.1 * (10 + hidden) * c.v.norm());
    case CouplingKind::linear:
      return u * d * c.A.norm() * norms;
    default:
      return 2 * u * c.frequency * c.frequency * norms;
  }
}

VectorXd potential_rounding(const Coupling& c, const MatrixXd& x) {
  const double d = static_cast<double>(x.cols()), hidden = static_cast<double>(c.W1.rows());
  if (c.kind == CouplingKind::gradient)
    return kUnitRoundoff * (1.1 * d + 10 + hidden) * c.W1.norm() * c.v.norm() * x.rowwise().norm();
  return kUnitRoundoff * (d + 3) * potential(c, x);
}

double symmetry_rounding(const Coupling& c) {
  if (c.kind != CouplingKind::gradient) return 0;
  return 2 * kUnitRoundoff * (static_cast<double>(c.W1.rows()) + 1) * 0.5 * c.v.cwiseAbs().maxCoeff() *
         c.W1.squaredNorm();
}

}  // namespace qksolve::coupled
