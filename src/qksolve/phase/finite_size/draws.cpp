#include "qksolve/phase/finite_size/draws.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "qksolve/numerics/pack.hpp"

namespace qksolve::phase {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using numerics::kLanes;
using numerics::Pack;

namespace {

constexpr std::size_t kAlignment = std::size_t{1} << 21;  // a large page
constexpr int kSweepBlock = 8;
constexpr int kUnchecked = 64;  // samples between two looks at the interrupt

std::int64_t padded(std::int64_t dimension) { return (dimension + kLanes - 1) / kLanes * kLanes; }

std::int64_t statistics_per_sample(const Model& model) {
  return static_cast<std::int64_t>(model.tokens) * (3 * model.tokens + model.teacher_rank);
}

Pack load_stored(const double* from) { return numerics::load(from); }
Pack load_stored(const float* from) {
  using Singles [[gnu::vector_size(kLanes * sizeof(float))]] = float;
  Singles singles;
  __builtin_memcpy(&singles, from, sizeof singles);
  return __builtin_convertvector(singles, Pack);
}

template <class Store>
double dot(const Store* x, const double* q, std::int64_t stride) {
  Pack sum{};
  for (std::int64_t i = 0; i < stride; i += kLanes) sum += load_stored(x + i) * numerics::load(q + i);
  return numerics::sum(sum);
}

template <class Store>
void add_multiple(const Store* x, double c, double* g, std::int64_t stride) {
  for (std::int64_t i = 0; i < stride; i += kLanes)
    numerics::store(g + i, numerics::load(g + i) + c * load_stored(x + i));
}

// Columns copied to padded storage.
MatrixXd pad_rows(const MatrixXd& matrix, std::int64_t rows) {
  MatrixXd wide = MatrixXd::Zero(rows, matrix.cols());
  wide.topRows(matrix.rows()) = matrix;
  return wide;
}

template <class Store>
Store* allocate(std::int64_t count) {
  const std::size_t bytes =
      (static_cast<std::size_t>(count) * sizeof(Store) + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, bytes);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  // A pass over the data would otherwise miss the translation buffer at every second row. Only a hint: may
  // fail.
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return static_cast<Store*>(memory);
}

// dE/dh of one sample, given dE/dS.
MatrixXd preactivation_gradient(const MatrixXd& S, const MatrixXd& gradient_S, const MatrixXd& h) {
  const VectorXd row_means = S.cwiseProduct(gradient_S).rowwise().sum();
  const MatrixXd gradient_scores = S.cwiseProduct(gradient_S.colwise() - row_means);
  return (gradient_scores + gradient_scores.transpose()) * h;
}

}  // namespace

numerics::RandomStream random_stream(const Draw& draw, RandomPurpose purpose) {
  return {draw.seed, static_cast<std::uint64_t>(draw.dimension), static_cast<std::uint64_t>(draw.instance),
          static_cast<std::uint64_t>(purpose)};
}

std::int64_t sample_count(double alpha, std::int64_t dimension) {
  return std::llround(alpha * static_cast<double>(dimension));
}

double required_memory(const Model& model, double dimension, double samples, std::size_t store_size) {
  const double per_sample =
      model.tokens * (std::ceil(dimension / kLanes) * kLanes) * static_cast<double>(store_size) +
      8.0 * static_cast<double>(statistics_per_sample(model));
  // Minimisers keep some tens of vectors of the size of Q.
  return samples * per_sample + 64.0 * 8.0 * dimension * model.rank;
}

MatrixXd softmax_attention(const MatrixXd& h) {
  MatrixXd scores = h * h.transpose();
  scores.colwise() -= scores.rowwise().maxCoeff().eval();
  const MatrixXd weights = scores.array().exp();
  return weights.array().colwise() / weights.rowwise().sum().array();
}

MatrixXd teacher_attention(const Model& model, const MatrixXd& h) {
  return (1.0 - model.omega) * softmax_attention(h) + model.omega * model.teacher_matrix;
}

double attention_distance(const MatrixXd& S, const MatrixXd& T, const MatrixXd& G, const MatrixXd& C,
                          const MatrixXd& P) {
  const MatrixXd M = S - T;
  return (M * G).cwiseProduct(M).sum() + 2.0 * (M * C).cwiseProduct(S).sum() + (S * P).cwiseProduct(S).sum();
}

MatrixXd positional_directions(std::int64_t dimension, int directions) {
  const double d = static_cast<double>(dimension);
  MatrixXd e(dimension, directions);
  for (int a = 0; a < directions; ++a)
    for (std::int64_t i = 0; i < dimension; ++i)
      e(i, a) =
          a == 0 ? 1.0 / std::sqrt(d)
                 : std::sqrt(2.0 / d) * std::cos(std::numbers::pi * a * (static_cast<double>(i) + 0.5) / d);
  return e;
}

template <class Store>
FiniteSize<Store>::FiniteSize(const Model& model, const Draw& draw, const numerics::Interrupt& interrupted)
    : model_(model),
      draw_(draw),
      interrupted_(interrupted),
      stride_(padded(draw.dimension)),
      per_sample_(statistics_per_sample(model)),
      data_(nullptr, &std::free) {
  model_.validate();
  if (draw_.dimension < 1) throw std::invalid_argument("the dimension must be at least 1");
  if (draw_.samples < 1) throw std::invalid_argument("the number of samples must be at least 1");
  if (model_.directions() > draw_.dimension)
    throw std::invalid_argument("there cannot be more positional directions than dimensions");
  const std::int64_t d = draw_.dimension;
  const int tokens = model_.tokens;

  directions_ = positional_directions(d, model_.directions());
  teacher_.resize(d, model_.teacher_rank);
  const numerics::RandomStream teacher_stream = random_stream(draw_, RandomPurpose::teacher);
  for (int k = 0; k < model_.teacher_rank; ++k)
    numerics::fill_normals(teacher_stream, static_cast<std::uint64_t>(k), teacher_.col(k).data(),
                           static_cast<std::size_t>(d));

  data_.reset(allocate<Store>(draw_.samples * tokens * stride_));
  statistics_.resize(draw_.samples * per_sample_);
  const MatrixXd projections = [&] {
    MatrixXd both(d, model_.directions() + model_.teacher_rank);
    both << directions_, teacher_ / std::sqrt(static_cast<double>(d));
    return pad_rows(both, stride_);
  }();
  const numerics::RandomStream data_stream = random_stream(draw_, RandomPurpose::data);
  MatrixXd stored = MatrixXd::Zero(stride_, tokens);  // column l: token l as it is stored
  for (std::int64_t sample = 0; sample < draw_.samples; ++sample) {
    throw_if_interrupted();
    for (int l = 0; l < tokens; ++l) {
      double* values = stored.col(l).data();
      numerics::fill_normals(data_stream, static_cast<std::uint64_t>(sample * tokens + l), values,
                             static_cast<std::size_t>(d));
      Store* target = data_.get() + (sample * tokens + l) * stride_;
      for (std::int64_t i = 0; i < stride_; ++i) {
        target[i] = static_cast<Store>(model_.sigma[l] * values[i]);
        values[i] = static_cast<double>(target[i]);
      }
    }
    MatrixXd x_projected(tokens, projections.cols());
    Eigen::Map<MatrixXd> statistics(statistics_.data() + sample * per_sample_, tokens, per_sample_ / tokens);
    for (int l = 0; l < tokens; ++l) {
      for (int m = 0; m <= l; ++m)
        statistics(l, m) = statistics(m, l) = dot(stored.col(l).data(), stored.col(m).data(), stride_);
      for (int k = 0; k < projections.cols(); ++k)
        x_projected(l, k) = dot(stored.col(l).data(), projections.col(k).data(), stride_);
    }
    const MatrixXd h = x_projected.rightCols(model_.teacher_rank);
    statistics.middleCols(tokens, tokens) =
        x_projected.leftCols(model_.directions()) * model_.positional_matrix.transpose();
    statistics.middleCols(2 * tokens, tokens) = phase::teacher_attention(model_, h);
    statistics.rightCols(model_.teacher_rank) = h;
  }
}

template <class Store>
double FiniteSize<Store>::risk(const MatrixXd& Q, MatrixXd* gradient) const {
  const double root_d = std::sqrt(static_cast<double>(draw_.dimension));
  const MatrixXd q = pad_rows(Q, stride_) / root_d;
  MatrixXd wide_gradient = MatrixXd::Zero(stride_, model_.rank);
  MatrixXd token_sums = MatrixXd::Zero(model_.tokens, model_.rank);
  double loss;
  if (model_.tokens == 2 && model_.rank == 1) {
    VectorXd sums = VectorXd::Zero(2);
    loss = two_token_pass(q.data(), wide_gradient.data(), sums);
    token_sums.col(0) = sums;
  } else {
    loss = general_pass(q, wide_gradient, token_sums);
  }
  if (gradient != nullptr)
    *gradient = (wide_gradient.topRows(draw_.dimension) +
                 directions_ * (model_.positional_matrix.transpose() * token_sums)) /
                    root_d +
                model_.lambda * Q;
  return loss + 0.5 * model_.lambda * Q.squaredNorm();
}

// Two tokens, rank one. S = ((s, 1 - s), (1 - t, t)), so that with D = x_1 - x_2 and D_p = p_1 - p_2
//   y_1 - f_1 = -(s - T_11) D - (p_2 + s D_p),   y_2 - f_2 = (t - T_22) D - (p_1 - t D_p).
template <class Store>
double FiniteSize<Store>::two_token_pass(const double* q, double* gradient, VectorXd& token_sums) const {
  const double d = static_cast<double>(draw_.dimension);
  const MatrixXd P = model_.positional_matrix * model_.positional_matrix.transpose();
  const double step_1 = P(0, 0) - P(0, 1), step_2 = P(0, 1) - P(1, 1);  // D_p . p_1, D_p . p_2
  const VectorXd position_1 = model_.positional_matrix.row(0), position_2 = model_.positional_matrix.row(1);
  const VectorXd projected = directions_.transpose() * Eigen::Map<const VectorXd>(q, draw_.dimension);
  const double shift_1 = position_1.dot(projected), shift_2 = position_2.dot(projected);
  double total = 0;
  for (std::int64_t sample = 0; sample < draw_.samples; ++sample) {
    if (sample % kUnchecked == 0) throw_if_interrupted();
    const Store* x1 = row(sample, 0);
    const Store* x2 = row(sample, 1);
    Pack sum1{}, sum2{};
    for (std::int64_t i = 0; i < stride_; i += kLanes) {
      const Pack at = numerics::load(q + i);
      sum1 += load_stored(x1 + i) * at;
      sum2 += load_stored(x2 + i) * at;
    }
    const double h1 = numerics::sum(sum1) + shift_1, h2 = numerics::sum(sum2) + shift_2;

    const View G = gram(sample), C = cross(sample), T = attention(sample);
    const double s = 1.0 / (1.0 + std::exp(-h1 * (h1 - h2))), t = 1.0 / (1.0 + std::exp(h2 * (h1 - h2)));
    const double a = s - T(0, 0), b = t - T(1, 1);
    const double square = G(0, 0) - 2.0 * G(0, 1) + G(1, 1);
    const double cross_1 = C(0, 0) - C(1, 0), cross_2 = C(0, 1) - C(1, 1);  // D . p_1, D . p_2
    const double cross_step = cross_1 - cross_2, step = step_1 - step_2;
    total += a * a * square + 2.0 * a * (cross_2 + s * cross_step) + P(1, 1) + s * (2.0 * step_2 + s * step) +
             b * b * square - 2.0 * b * (cross_1 - t * cross_step) + P(0, 0) - t * (2.0 * step_1 - t * step);
    // Half the derivatives in s and t, times those of the logistic function.
    const double by_s =
        (a * (square + cross_step) + cross_2 + s * cross_step + step_2 + s * step) * s * (1.0 - s);
    const double by_t =
        (b * (square + cross_step) - cross_1 + t * cross_step - step_1 + t * step) * t * (1.0 - t);
    const double c1 = (by_s * (2.0 * h1 - h2) - by_t * h2) / d;
    const double c2 = (by_t * (2.0 * h2 - h1) - by_s * h1) / d;
    token_sums[0] += c1;
    token_sums[1] += c2;
    // The update works in the first-level cache: meanwhile the next sample, whose 2 stride_ values follow x2,
    // is fetched.
    const Store* ahead = row(std::min(sample + 1, draw_.samples - 1), 0);
    for (std::int64_t i = 0; i < stride_; i += kLanes) {
      __builtin_prefetch(ahead + i, 0, 2);
      __builtin_prefetch(ahead + stride_ + i, 0, 2);
      numerics::store(gradient + i,
                      numerics::load(gradient + i) + c1 * load_stored(x1 + i) + c2 * load_stored(x2 + i));
    }
  }
  return total / (2.0 * d);
}

template <class Store>
double FiniteSize<Store>::general_pass(const MatrixXd& q, MatrixXd& gradient, MatrixXd& token_sums) const {
  const double d = static_cast<double>(draw_.dimension);
  const MatrixXd& B = model_.positional_matrix;
  const MatrixXd P = B * B.transpose();
  const MatrixXd shift = B * (directions_.transpose() * q.topRows(draw_.dimension));
  MatrixXd h(model_.tokens, model_.rank);
  double total = 0;
  for (std::int64_t sample = 0; sample < draw_.samples; ++sample) {
    if (sample % kUnchecked == 0) throw_if_interrupted();
    for (int l = 0; l < model_.tokens; ++l)
      for (int k = 0; k < model_.rank; ++k)
        h(l, k) = dot(row(sample, l), q.col(k).data(), stride_) + shift(l, k);
    const MatrixXd S = softmax_attention(h), M = S - attention(sample);
    const View G = gram(sample), C = cross(sample);
    total += attention_distance(S, attention(sample), G, C, P);
    const MatrixXd gradient_S = (M * (G + C) + S * (C.transpose() + P)) / d;
    const MatrixXd c = preactivation_gradient(S, gradient_S, h);
    token_sums += c;
    for (int l = 0; l < model_.tokens; ++l)
      for (int k = 0; k < model_.rank; ++k)
        add_multiple(row(sample, l), c(l, k), gradient.col(k).data(), stride_);
  }
  return total / (2.0 * d);
}

template <class Store>
MatrixXd FiniteSize<Store>::sweep(const MatrixXd& Q, const Respond& respond) const {
  const double root_d = std::sqrt(static_cast<double>(draw_.dimension));
  const MatrixXd q = pad_rows(Q, stride_) / root_d;
  const int columns = static_cast<int>(Q.cols());
  MatrixXd result = MatrixXd::Zero(stride_, columns);
  for (std::int64_t first = 0; first < draw_.samples; first += kSweepBlock) {
    throw_if_interrupted();
    const int count = static_cast<int>(std::min<std::int64_t>(kSweepBlock, draw_.samples - first));
    MatrixXd h(model_.tokens * columns, count);
    for (int i = 0; i < count; ++i)
      for (int l = 0; l < model_.tokens; ++l)
        for (int k = 0; k < columns; ++k)
          h(l + model_.tokens * k, i) = dot(row(first + i, l), q.col(k).data(), stride_);
    respond(first, count, h);
    for (int i = 0; i < count; ++i)
      for (int l = 0; l < model_.tokens; ++l)
        for (int k = 0; k < columns; ++k)
          add_multiple(row(first + i, l), h(l + model_.tokens * k, i), result.col(k).data(), stride_);
  }
  return result.topRows(draw_.dimension) / root_d;
}

template class FiniteSize<double>;
template class FiniteSize<float>;

}  // namespace qksolve::phase
