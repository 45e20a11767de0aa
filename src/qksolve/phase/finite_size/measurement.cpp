#include "qksolve/phase/finite_size/measurement.hpp"

#include <cmath>
#include <vector>

#include "qksolve/numerics/dense.hpp"
#include "qksolve/numerics/statistics.hpp"
#include "qksolve/phase/two_token/teacher.hpp"

namespace qksolve::phase {

using Eigen::MatrixXd;
using Eigen::VectorXd;

Overlaps measure_overlaps(const MatrixXd& Q, const MatrixXd& teacher, const MatrixXd& directions) {
  const double d = static_cast<double>(Q.rows());
  Overlaps overlaps;
  overlaps.q = Q.transpose() * Q / d;
  overlaps.theta = Q.transpose() * teacher / d;
  overlaps.m = Q.transpose() * directions / std::sqrt(d);
  return overlaps;
}

template <class Store>
MatrixXd fit_linear_baseline(const FiniteSize<Store>& instance) {
  const int tokens = instance.model().tokens;
  MatrixXd product = MatrixXd::Zero(tokens, tokens), gram = product;
  for (std::int64_t sample = 0; sample < instance.draw().samples; ++sample) {
    instance.throw_if_interrupted();
    product += instance.attention(sample) * instance.gram(sample);
    gram += instance.gram(sample);
  }
  return numerics::solve_symmetric(gram, product.transpose()).transpose();
}

TestErrors measure_test_errors(const Model& model, const Draw& draw, const MatrixXd& Q,
                               const MatrixXd& teacher, const MatrixXd& directions, const MatrixXd& linear,
                               std::int64_t count, const numerics::Interrupt& interrupted) {
  const double d = static_cast<double>(draw.dimension), root_d = std::sqrt(d);
  const int tokens = model.tokens, rank = model.rank, teacher_rank = model.teacher_rank;
  MatrixXd span(Q.rows(), rank + teacher_rank + directions.cols());
  span << Q / root_d, teacher / root_d, directions;
  // span = U K^(1/2) with orthonormal U: the projections of a token are sigma_l g K^(1/2), g ~ N(0, I). Where
  // vectors of the span depend on each other, g has only as many components as there are dimensions.
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(span.transpose() * span);
  std::vector<int> kept;
  for (int i = 0; i < eigen.values.size(); ++i)
    if (eigen.values[i] > 1e-12 * eigen.values.maxCoeff()) kept.push_back(i);
  const int dimensions = static_cast<int>(kept.size());
  MatrixXd root(dimensions, span.cols());
  for (int i = 0; i < dimensions; ++i)
    root.row(i) = std::sqrt(eigen.values[kept[i]]) * eigen.vectors.col(kept[i]).transpose();

  const MatrixXd& B = model.positional_matrix;
  const MatrixXd P = B * B.transpose(), shift = B * (directions.transpose() * Q / root_d);
  const VectorXd variance = model.sigma.cwiseAbs2();
  const MatrixXd rest = (d - dimensions) * MatrixXd(variance.asDiagonal());
  const numerics::RandomStream stream = random_stream(draw, RandomPurpose::test);
  MatrixXd g(tokens, dimensions);
  VectorXd student(count), limit_form(count);
  double linear_sum = 0;
  for (std::int64_t sample = 0; sample < count; ++sample) {
    numerics::throw_if(interrupted);
    numerics::fill_normals(stream, static_cast<std::uint64_t>(sample), g.data(),
                           static_cast<std::size_t>(g.size()));
    g = model.sigma.asDiagonal() * g;
    const MatrixXd projected = g * root;
    const MatrixXd S = softmax_attention(projected.leftCols(rank) + shift);
    const MatrixXd T = teacher_attention(model, projected.middleCols(rank, teacher_rank));
    const MatrixXd G = g * g.transpose() + rest, C = projected.rightCols(directions.cols()) * B.transpose();
    student[sample] = attention_distance(S, T, G, C, P) / (2.0 * d);
    limit_form[sample] = 0.5 * ((S - T).cwiseAbs2() * variance).sum();
    linear_sum += ((T - linear) * G).cwiseProduct(T - linear).sum() / (2.0 * d);
  }
  const numerics::MeanEstimate of_student = numerics::mean_estimate(student),
                               of_limit = numerics::mean_estimate(limit_form);
  return {of_student.mean, *of_student.error, of_limit.mean, *of_limit.error,
          linear_sum / static_cast<double>(count)};
}

std::optional<double> conditional_test_error(const Model& model, const Overlaps& overlaps,
                                             double teacher_norm, double tolerance, double& error) {
  if (!is_two_token(model)) return std::nullopt;
  // A teacher of squared length rho d at this sigma is one of length d at sigma sqrt(rho), with the student's
  // overlaps divided by rho; only the prefactor sigma^2 of the error has to be put right.
  Model scaled = model;
  scaled.sigma *= std::sqrt(teacher_norm);
  Overlaps of_scaled = overlaps;
  of_scaled.q /= teacher_norm;
  of_scaled.theta /= teacher_norm;
  if (!(of_scaled.q(0, 0) > of_scaled.theta(0, 0) * of_scaled.theta(0, 0))) return std::nullopt;
  const double value = two_token_generalization_error(scaled, of_scaled, tolerance, error) / teacher_norm;
  error /= teacher_norm;
  return value;
}

template <class Store>
double positional_part(const FiniteSize<Store>& instance, const MatrixXd& Q) {
  const Model& model = instance.model();
  const double d = static_cast<double>(instance.draw().dimension);
  const MatrixXd& B = model.positional_matrix;
  const MatrixXd shift = B * (instance.directions().transpose() * Q / std::sqrt(d));
  double total = 0;
  instance.sweep(Q, [&](std::int64_t, int count, MatrixXd& h) {
    for (int i = 0; i < count; ++i)
      total += (softmax_attention(h.col(i).reshaped(model.tokens, Q.cols()) + shift) * B).squaredNorm();
  });
  return total / (2.0 * d);
}

template <class Store>
VectorXd control_variates(const FiniteSize<Store>& instance) {
  const Model& model = instance.model();
  if (!is_two_token(model)) return {};
  const double d = static_cast<double>(instance.draw().dimension),
               n = static_cast<double>(instance.draw().samples);
  const double variance = model.sigma[0] * model.sigma[0];
  VectorXd sums = VectorXd::Zero(3);
  for (std::int64_t sample = 0; sample < instance.draw().samples; ++sample) {
    instance.throw_if_interrupted();
    const auto G = instance.gram(sample), C = instance.cross(sample), T = instance.attention(sample);
    const double a = T(0, 0) - 0.5, b = T(1, 1) - 0.5;
    const double half_square = (G(0, 0) - 2.0 * G(0, 1) + G(1, 1)) / 2.0;
    sums[0] += half_square * (a + b);
    sums[1] += half_square * (a * a + b * b);
    // x_l.p_m = B_m x_l.e: the factor does not matter.
    sums[2] += (C(0, 0) - C(1, 0)) * (a + b);
  }
  // Along Q* the difference x_1 - x_2 is sqrt(2) sigma zeta_w, on which T depends; the other d - 1 components
  // are free.
  const double teacher_norm = instance.teacher().squaredNorm() / d;
  Model scaled = model;
  scaled.sigma *= std::sqrt(teacher_norm);
  VectorXd means = VectorXd::Zero(3);
  double mass = 0;
  for (const TeacherNode& node : teacher_rule(scaled, 64, 128, 9.0, true)) {
    const double a = node.t1 - 0.5, b = node.t2 - 0.5;
    const double weight = node.weight * variance * (d - 1.0 + node.zeta_w * node.zeta_w);
    means[0] += weight * (a + b);
    means[1] += weight * (a * a + b * b);
    mass += node.weight;
  }
  VectorXd controls(4);
  controls << (sums - n / mass * means) / (d * d), teacher_norm - 1.0;
  return controls;
}

template MatrixXd fit_linear_baseline(const FiniteSize<double>&);
template MatrixXd fit_linear_baseline(const FiniteSize<float>&);
template double positional_part(const FiniteSize<double>&, const MatrixXd&);
template double positional_part(const FiniteSize<float>&, const MatrixXd&);
template VectorXd control_variates(const FiniteSize<double>&);
template VectorXd control_variates(const FiniteSize<float>&);

}  // namespace qksolve::phase
