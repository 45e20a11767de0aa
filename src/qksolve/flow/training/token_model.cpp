#include "qksolve/flow/training/token_model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "qksolve/numerics/pack.hpp"
#include "qksolve/numerics/random_normals.hpp"

namespace qksolve::flow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using numerics::kLanes;

enum Purpose : std::uint64_t { kKeys = 20, kQuery, kValues, kOutput };

// rows x columns normal numbers of this variance; a column is a row of the stream.
MatrixXd normals(std::uint64_t seed, Purpose purpose, Index rows, Index columns, double variance) {
  MatrixXd found(rows, columns);
  for (Index j = 0; j < columns; ++j)
    numerics::fill_normals({seed, 0, 0, purpose}, static_cast<std::uint64_t>(j), found.col(j).data(),
                           static_cast<std::size_t>(rows));
  return found * std::sqrt(variance);
}

// x_i = exp(x_i - max x), which is padded to whole packs; returns the sum.
double exponentials(std::vector<double>& x, std::size_t count) {
  x.resize((count + kLanes - 1) / kLanes * kLanes);
  const double largest = *std::max_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i < count; i += kLanes)
    numerics::store(&x[i], numerics::exp(numerics::load(&x[i]) - largest));
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += x[i];
  return sum;
}

// The tokens of example i, and where in b each of them looks.
struct Tokens {
  const std::int32_t* token;
  Index length, positions;
  Index label;

  Tokens(const TokenizedExamples& examples, std::int64_t i, const TokenWeights& weights)
      : token(examples.tokens.data() + examples.first[static_cast<std::size_t>(i)]),
        length(examples.length(i)),
        positions(weights.bias.size()),
        label(examples.labels[static_cast<std::size_t>(i)]) {}
  Index place(Index l) const { return std::min(length - l, positions) - 1; }
};

// Kept by each thread: allocation would take longer than the arithmetic.
struct Forward {
  std::vector<double> attention, probabilities;
  VectorXd mean_value, logits, logits_gradient, value_gradient;
};
Forward& buffers() {
  thread_local Forward forward;
  return forward;
}

void fill_scores(const TokenWeights& w, const Tokens& x, double* scores) {
  const bool factorized = w.query.size() > 0;
  for (Index l = 0; l < x.length; ++l) {
    scores[l] = factorized ? w.keys.col(x.token[l]).dot(w.query.col(0)) : w.keys(0, x.token[l]);
    if (x.positions > 0) scores[l] += w.bias(x.place(l), 0);
  }
}

// Attention, mean value, logits and probabilities; returns the loss.
double pass_forward(const TokenWeights& w, const Tokens& x, Forward& f) {
  const auto length = static_cast<std::size_t>(x.length);
  f.attention.resize(length);
  fill_scores(w, x, f.attention.data());
  const double total = exponentials(f.attention, length);
  f.mean_value.setZero(w.values.rows());
  for (Index l = 0; l < x.length; ++l) {
    double& a = f.attention[static_cast<std::size_t>(l)];
    a /= total;
    f.mean_value += a * w.values.col(x.token[l]);
  }
  if (w.output.size() > 0)
    f.logits.noalias() = w.output * f.mean_value;
  else
    f.logits = f.mean_value;
  const auto classes = static_cast<std::size_t>(f.logits.size());
  f.probabilities.assign(f.logits.data(), f.logits.data() + classes);
  const double largest = f.logits.maxCoeff(), sum = exponentials(f.probabilities, classes);
  for (std::size_t c = 0; c < classes; ++c) f.probabilities[c] /= sum;
  return std::log(sum) + largest - f.logits[x.label];
}

}  // namespace

TokenModel::TokenModel(const TokenModelOptions& options) : options_(options) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  };
  require(options.vocabulary >= 1, "a vocabulary holds at least one token");
  require(options.classes >= 2, "a classifier needs at least two classes");
  require(options.inner_dimension >= 1, "the inner dimension is at least 1");
  require(options.positions >= 0, "the number of positions is not negative");
  require(options.init_scale > 0 && std::isfinite(options.init_scale), "the initial scale is positive");
  const Index d = options.inner_dimension, v = options.vocabulary, c = options.classes;
  const double scale = options.init_scale, variance = scale * scale / static_cast<double>(d);
  const bool zero = options.start_at_zero;
  const MatrixXd keys = normals(options.seed, kKeys, d, v, variance),
                 direction = normals(options.seed, kQuery, d, 1, variance),
                 values = normals(options.seed, kValues, d, v, variance),
                 output = normals(options.seed, kOutput, c, d, variance);
  const MatrixXd query = direction * (options.uniform ? 0.0 : scale / direction.norm());
  if (options.parameterization.factorized_qk) {
    weights.keys = keys;
    weights.query = query;
  } else {
    weights.keys = zero ? MatrixXd::Zero(1, v) : MatrixXd(query.transpose() * keys);
  }
  if (options.parameterization.factorized_ov) {
    weights.values = values;
    weights.output = output;
  } else {
    weights.values = zero ? MatrixXd::Zero(c, v) : MatrixXd(output * values);
  }
  weights.bias = MatrixXd::Zero(options.positions, 1);
}

TokenWeights TokenModel::zero_gradient() const {
  TokenWeights gradient = weights;
  for (MatrixXd* part : {&gradient.keys, &gradient.query, &gradient.bias, &gradient.values, &gradient.output})
    part->setZero();
  return gradient;
}

double TokenModel::loss(const TokenizedExamples& examples) const {
  Forward& f = buffers();
  double sum = 0;
  for (std::int64_t i = 0; i < examples.size(); ++i)
    sum += pass_forward(weights, Tokens(examples, i, weights), f);
  return sum / static_cast<double>(examples.size());
}

double TokenModel::add_gradient(const TokenizedExamples& examples, std::int64_t i, double scale,
                                TokenWeights& gradient) const {
  Forward& f = buffers();
  const Tokens x(examples, i, weights);
  const double loss = pass_forward(weights, x, f);
  f.logits_gradient = Eigen::Map<const VectorXd>(f.probabilities.data(), options_.classes);
  f.logits_gradient[x.label] -= 1;
  f.logits_gradient *= scale;
  if (weights.output.size() > 0) {
    f.value_gradient.noalias() = weights.output.transpose() * f.logits_gradient;
    gradient.output.noalias() += f.logits_gradient * f.mean_value.transpose();
  } else {
    f.value_gradient = f.logits_gradient;
  }
  const double mean = f.value_gradient.dot(f.mean_value);
  for (Index l = 0; l < x.length; ++l) {
    const double a = f.attention[static_cast<std::size_t>(l)];
    const Index t = x.token[l];
    const double score = a * (f.value_gradient.dot(weights.values.col(t)) - mean);
    gradient.values.col(t) += a * f.value_gradient;
    if (weights.query.size() > 0) {
      gradient.keys.col(t) += score * weights.query.col(0);
      gradient.query.col(0) += score * weights.keys.col(t);
    } else {
      gradient.keys(0, t) += score;
    }
    if (x.positions > 0) gradient.bias(x.place(l), 0) += score;
  }
  return loss;
}

VectorXd TokenModel::scores(const TokenizedExamples& examples, std::int64_t i) const {
  const Tokens x(examples, i, weights);
  VectorXd found(x.length);
  fill_scores(weights, x, found.data());
  return found;
}

AttendedSequence TokenModel::attend(const TokenizedExamples& examples, std::int64_t i) const {
  Forward& f = buffers();
  const Tokens x(examples, i, weights);
  pass_forward(weights, x, f);
  AttendedSequence found;
  found.label = static_cast<int>(x.label);
  found.attention = Eigen::Map<const VectorXd>(f.attention.data(), x.length);
  found.token_logits.resize(options_.classes, x.length);
  const double* relevant = examples.relevant.data() + examples.first[static_cast<std::size_t>(i)];
  for (Index l = 0; l < x.length; ++l) {
    const auto value = weights.values.col(x.token[l]);
    if (weights.output.size() > 0)
      found.token_logits.col(l).noalias() = weights.output * value;
    else
      found.token_logits.col(l) = value;
    found.relevant.push_back(relevant[l] > 0);
  }
  return found;
}

}  // namespace qksolve::flow
