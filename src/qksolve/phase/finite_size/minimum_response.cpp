#include "qksolve/phase/finite_size/minimum_response.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "qksolve/numerics/dense.hpp"
#include "qksolve/numerics/statistics.hpp"
#include "qksolve/phase/two_token/proximal.hpp"
#include "qksolve/phase/two_token/teacher.hpp"

namespace qksolve::phase {

using Eigen::Index;
using Eigen::Matrix2d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::VectorXd;
using numerics::kLanes;
using numerics::Pack;

namespace {

constexpr int kProbes = 16, kIterations = 2000;
constexpr double kResidual = 1e-8;

// What the curvature needs to know of Q: per sample the preactivations (2 x samples) and the second
// derivatives of the sample's term of E in them.
struct Curvature {
  MatrixXd h;
  std::vector<Matrix2d> second;
};

// Second derivatives of |y - f|^2/(2 d), with the names of FiniteSize::two_token_pass: it is a quadratic in
// each of s = logistic(u), u = h_1 (h_1 - h_2), and t = logistic(v), v = h_2 (h_2 - h_1).
template <class Store>
Matrix2d second_derivatives(const FiniteSize<Store>& instance, std::int64_t sample, double h1, double h2) {
  const MatrixXd& B = instance.model().positional_matrix;
  const Matrix2d P = B * B.transpose();
  const auto G = instance.gram(sample), C = instance.cross(sample), T = instance.attention(sample);
  const double d = static_cast<double>(instance.draw().dimension);
  const double square = G(0, 0) - 2.0 * G(0, 1) + G(1, 1);
  const double cross_1 = C(0, 0) - C(1, 0), cross_2 = C(0, 1) - C(1, 1), cross_step = cross_1 - cross_2;
  const double step_1 = P(0, 0) - P(0, 1), step_2 = P(0, 1) - P(1, 1), step = step_1 - step_2;
  const double s = 1.0 / (1.0 + std::exp(-h1 * (h1 - h2))), t = 1.0 / (1.0 + std::exp(h2 * (h1 - h2)));
  const double by_s = (s - T(0, 0)) * (square + cross_step) + cross_2 + s * cross_step + step_2 + s * step;
  const double by_t = (t - T(1, 1)) * (square + cross_step) - cross_1 + t * cross_step - step_1 + t * step;
  const double curvature = square + 2.0 * cross_step + step;
  const double slope_s = s * (1.0 - s), slope_t = t * (1.0 - t);
  const double by_u = by_s * slope_s, by_v = by_t * slope_t;
  const double by_uu = curvature * slope_s * slope_s + by_s * slope_s * (1.0 - 2.0 * s);
  const double by_vv = curvature * slope_t * slope_t + by_t * slope_t * (1.0 - 2.0 * t);
  const Vector2d u(2.0 * h1 - h2, -h1), v(-h2, 2.0 * h2 - h1);
  const Matrix2d of_u{{2, -1}, {-1, 0}}, of_v{{0, -1}, {-1, 2}};
  return (by_uu * u * u.transpose() + by_u * of_u + by_vv * v * v.transpose() + by_v * of_v) / d;
}

template <class Store>
Curvature curvature_at(const FiniteSize<Store>& instance, const MatrixXd& Q) {
  if (!is_two_token(instance.model()))
    throw std::invalid_argument("the response needs two tokens of equal sigma at rank one");
  const double root_d = std::sqrt(static_cast<double>(instance.draw().dimension));
  const Vector2d shift =
      instance.model().positional_matrix * (instance.directions().transpose() * Q / root_d);
  Curvature curvature{MatrixXd(2, instance.draw().samples), {}};
  instance.sweep(Q, [&](std::int64_t first, int count, MatrixXd& h) {
    curvature.h.middleCols(first, count) = h.colwise() + shift;
  });
  for (std::int64_t i = 0; i < instance.draw().samples; ++i) {
    instance.throw_if_interrupted();
    curvature.second.push_back(second_derivatives(instance, i, curvature.h(0, i), curvature.h(1, i)));
  }
  return curvature;
}

// H times each column of `vectors`.
template <class Store>
MatrixXd times_hessian(const FiniteSize<Store>& instance, const Curvature& curvature,
                       const MatrixXd& vectors) {
  const Model& model = instance.model();
  const double root_d = std::sqrt(static_cast<double>(instance.draw().dimension));
  const MatrixXd shift = model.positional_matrix * (instance.directions().transpose() * vectors / root_d);
  MatrixXd sums = MatrixXd::Zero(2, vectors.cols());
  MatrixXd product = instance.sweep(vectors, [&](std::int64_t first, int count, MatrixXd& h) {
    for (int i = 0; i < count; ++i) {
      Eigen::Map<MatrixXd> of_sample(h.col(i).data(), 2, vectors.cols());
      of_sample = curvature.second[static_cast<std::size_t>(first + i)] * (of_sample + shift).eval();
      sums += of_sample;
    }
  });
  product += instance.directions() * (model.positional_matrix.transpose() * sums) / root_d;
  return product + model.lambda * vectors;
}

template <class Store>
MatrixXd hessian_of(const FiniteSize<Store>& instance, const Curvature& curvature) {
  const std::int64_t d = instance.draw().dimension;
  MatrixXd H = instance.model().lambda * MatrixXd::Identity(d, d);
  constexpr std::int64_t kBlock = 64;
  const MatrixXd& e = instance.directions();
  const MatrixXd& B = instance.model().positional_matrix;
  for (std::int64_t first = 0; first < instance.draw().samples; first += kBlock) {
    instance.throw_if_interrupted();
    const std::int64_t count = std::min(kBlock, instance.draw().samples - first);
    MatrixXd tokens(d, 2 * count), weighted(d, 2 * count);
    for (std::int64_t i = 0; i < count; ++i) {
      for (int l = 0; l < 2; ++l)
        tokens.col(2 * i + l) = instance.token(first + i, l) + e * B.row(l).transpose();
      weighted.middleCols(2 * i, 2) =
          tokens.middleCols(2 * i, 2) * curvature.second[static_cast<std::size_t>(first + i)];
    }
    H.noalias() += (tokens / static_cast<double>(d)) * weighted.transpose();
  }
  return H;
}

// s'H^{-1}s for columns s of random signs; nothing where H shows a negative curvature or the solution stalls.
template <class Store>
std::optional<VectorXd> probes(const FiniteSize<Store>& instance, const Curvature& curvature) {
  const std::int64_t d = instance.draw().dimension;
  MatrixXd signs(d, kProbes);
  for (int k = 0; k < kProbes; ++k)
    numerics::fill_normals(random_stream(instance.draw(), RandomPurpose::probe),
                           static_cast<std::uint64_t>(k), signs.col(k).data(), static_cast<std::size_t>(d));
  signs = signs.unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; });
  // Conjugate gradients for all columns at once: one pass over the data serves them all.
  MatrixXd x = MatrixXd::Zero(d, kProbes), residual = signs, direction = signs;
  Eigen::RowVectorXd square = residual.colwise().squaredNorm();
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    if (square.maxCoeff() <= kResidual * kResidual * static_cast<double>(d))
      return VectorXd(signs.cwiseProduct(x).colwise().sum().transpose());
    const MatrixXd product = times_hessian(instance, curvature, direction);
    const Eigen::RowVectorXd along = direction.cwiseProduct(product).colwise().sum();
    if (!(along.minCoeff() > 0)) return std::nullopt;
    const Eigen::RowVectorXd step = square.cwiseQuotient(along);
    x += direction * step.asDiagonal();
    residual -= product * step.asDiagonal();
    const Eigen::RowVectorXd next = residual.colwise().squaredNorm();
    direction = residual + direction * next.cwiseQuotient(square).asDiagonal();
    square = next;
  }
  return std::nullopt;
}

template <class Store>
double trapped_share(const FiniteSize<Store>& instance, const Curvature& curvature, double V) {
  const double sigma = instance.model().sigma[0], variance = sigma * sigma, tau = variance * variance * V;
  const auto samples = curvature.h.cols();
  std::int64_t trapped = 0;
  for (Index first = 0; first < samples; first += kLanes) {
    instance.throw_if_interrupted();
    TwoTokenLabel label{numerics::broadcast(0.5), numerics::broadcast(0.5)};
    Pack w{}, y{};
    for (Index i = 0; i < std::min<Index>(kLanes, samples - first); ++i) {
      const auto T = instance.attention(first + i);
      label.t1[i] = T(0, 0);
      label.t2[i] = T(1, 1);
      w[i] = (curvature.h(0, first + i) - curvature.h(1, first + i)) / std::sqrt(2.0);
      y[i] = (curvature.h(0, first + i) + curvature.h(1, first + i)) / std::sqrt(2.0);
    }
    const TwoTokenLoss loss(w, y, label);
    const Pack x = w + tau * loss.dw, s = y + tau * loss.dy;
    const Pack energy = 0.5 * ((w - x) * (w - x) + (y - s) * (y - s)) + tau * loss.value;
    const Pack gain = energy - two_token_proximal(label, tau, x, s).energy;
    for (Index i = 0; i < std::min<Index>(kLanes, samples - first); ++i) trapped += gain[i] > 1e-9;
  }
  return static_cast<double>(trapped) / static_cast<double>(samples);
}

}  // namespace

template <class Store>
MatrixXd hessian(const FiniteSize<Store>& instance, const MatrixXd& Q) {
  return hessian_of(instance, curvature_at(instance, Q));
}

template <class Store>
std::optional<MinimumResponse> measure_response(const FiniteSize<Store>& instance, const MatrixXd& Q,
                                                std::int64_t exact_dimension) {
  const Curvature curvature = curvature_at(instance, Q);
  const double d = static_cast<double>(instance.draw().dimension);
  MinimumResponse response;
  if (instance.draw().dimension <= exact_dimension) {
    const auto trace = numerics::trace_of_inverse(hessian_of(instance, curvature));
    if (!trace) return std::nullopt;
    response.V = *trace / d;
  } else {
    const auto values = probes(instance, curvature);
    if (!values) return std::nullopt;
    const numerics::MeanEstimate estimate = numerics::mean_estimate(*values / d);
    response.V = estimate.mean;
    response.V_error = *estimate.error;
  }
  response.trapped_share = trapped_share(instance, curvature, response.V);
  return response;
}

template MatrixXd hessian(const FiniteSize<double>&, const MatrixXd&);
template MatrixXd hessian(const FiniteSize<float>&, const MatrixXd&);
template std::optional<MinimumResponse> measure_response(const FiniteSize<double>&, const MatrixXd&,
                                                         std::int64_t);
template std::optional<MinimumResponse> measure_response(const FiniteSize<float>&, const MatrixXd&,
                                                         std::int64_t);

}  // namespace qksolve::phase
