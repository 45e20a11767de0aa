#include "qksolve/flow/training/full_matrix.hpp"

#include <cmath>
#include <random>
#include <stdexcept>

#include "qksolve/numerics/dense.hpp"
#include "qksolve/numerics/long_calls.hpp"
#include "qksolve/numerics/one_thread.hpp"

namespace qksolve::flow {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

int key_count(const Task& task) { return task.classes * task.pool + task.common; }
int queries_per_class(const Task& task) { return task.query == Query::paper ? task.pool : 1; }
int query_count(const Task& task) {
  return task.query == Query::shared ? 1 : task.classes * queries_per_class(task);
}
int query_of(const Task& task, int label, int which) {
  return task.query == Query::shared ? 0 : label * queries_per_class(task) + which;
}

MatrixXd gaussian(Eigen::Index rows, Eigen::Index columns, double deviation, std::mt19937_64& random,
                  const numerics::Interrupt& interrupted) {
  std::normal_distribution<double> normal(0, deviation);
  MatrixXd matrix(rows, columns);
  for (auto column : matrix.colwise()) {
    numerics::throw_if(interrupted);
    for (double& entry : column) entry = normal(random);
  }
  return matrix;
}

MatrixXd embeddings(int tokens, int dimension, Embedding kind, std::mt19937_64& random,
                    const numerics::Interrupt& interrupted) {
  MatrixXd rows = gaussian(tokens, dimension, 1 / std::sqrt(dimension), random, interrupted);
  if (kind == Embedding::gaussian) return rows;
  return numerics::abandon_if(interrupted, [columns = MatrixXd(rows.transpose())]() -> MatrixXd {
    return numerics::householder_qr(columns).Q.transpose();
  });
}

void check(const Model& model, const Training& training) {
  model.validate();
  auto require = [](bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
  };
  require(training.dimension >= vocabulary(model.task),
          "the dimension must be at least the number of tokens");
  require(training.inner_dimension >= 0, "the inner dimension must not be negative");
  require(training.init != Init::aligned || training.inner_dimension == 0 ||
              training.inner_dimension >= model.task.classes,
          "the inner dimension must be at least the number of classes");
  require(training.init_scale > 0 && std::isfinite(training.init_scale),
          "the initial scale must be positive");
  require(training.step_size > 0 && std::isfinite(training.step_size), "the step size must be positive");
  require(training.steps >= 0, "steps must not be negative");
  require(training.batch >= 0, "the batch must not be negative");
}

}  // namespace

std::pair<double, double> factor_sizes(double product, double imbalance) {
  const double sum = std::hypot(imbalance, 2 * product);  // x^2 + y^2
  const double larger = std::sqrt(0.5 * (sum + std::abs(imbalance)));
  const double smaller = larger > 0 ? product / larger : 0;
  return imbalance >= 0 ? std::pair(larger, smaller) : std::pair(smaller, larger);
}

std::int64_t vocabulary(const Task& task) {
  const std::int64_t distinct = static_cast<std::int64_t>(task.classes) * task.pool;
  const std::int64_t queries = task.query == Query::shared  ? 1
                               : task.query == Query::paper ? distinct
                                                            : task.classes;
  return distinct + task.common + queries;
}

std::vector<Example> population(const Task& task) {
  std::vector<Example> examples;
  const int queries = queries_per_class(task);
  for (int label = 0; label < task.classes; ++label)
    for (int which = 0; which < queries; ++which) {
      Example example;
      example.label = label;
      example.query = query_of(task, label, which);
      example.probability = 1.0 / (task.classes * queries);
      for (int i = 0; i < task.pool; ++i) {
        example.keys.push_back(label * task.pool + i);
        example.counts.push_back(static_cast<double>(task.distinct_per_sequence) / task.pool);
      }
      for (int k = 0; k < task.common; ++k) {
        example.keys.push_back(task.classes * task.pool + k);
        example.counts.push_back(static_cast<double>(task.common_per_sequence) / task.common);
      }
      examples.push_back(example);
    }
  return examples;
}

std::vector<Example> draw_sequences(const Task& task, int count, std::uint64_t seed,
                                    const numerics::Interrupt& interrupted) {
  std::mt19937_64 random(seed);
  auto draw = [&](int choices) { return std::uniform_int_distribution<int>(0, choices - 1)(random); };
  std::vector<Example> examples(static_cast<std::size_t>(count));
  for (Example& x : examples) {
    numerics::throw_if(interrupted);
    x.label = draw(task.classes);
    x.query = query_of(task, x.label, draw(queries_per_class(task)));
    x.probability = 1.0 / count;
    for (int l = 0; l < task.distinct_per_sequence; ++l)
      x.keys.push_back(x.label * task.pool + draw(task.pool));
    for (int l = 0; l < task.common_per_sequence; ++l)
      x.keys.push_back(task.classes * task.pool + draw(task.common));
    x.counts.assign(x.keys.size(), 1.0);
  }
  return examples;
}

// What the loss sees of the weights: logits of every key, scores of every key for every query; with gradients
// by both.
struct FullModel::Forward {
  MatrixXd logits, scores;                    // C x keys, keys x queries
  MatrixXd logits_gradient, scores_gradient;  // same
  double loss = 0, attention = 0, margin = 0;
};

FullModel::FullModel(const Model& model, const Training& training, const numerics::Interrupt& interrupted)
    : model_(model),
      training_(training),
      interrupted_(interrupted),
      frozen_(model.task.query != Query::shared) {
  check(model, training);
  population_ = population(model.task);
  const numerics::OneThread one_thread;
  if (training_.inner_dimension == 0)
    training_.inner_dimension = training.init == Init::aligned ? model.task.classes : training.dimension;
  std::mt19937_64 random(training.seed);
  const MatrixXd all = embeddings(key_count(model.task) + query_count(model.task), training.dimension,
                                  training.embedding, random, interrupted);
  keys_ = all.topRows(key_count(model.task));
  queries_ = all.bottomRows(query_count(model.task));
  start(random());
}

void FullModel::start(std::uint64_t seed) {
  const Task& task = model_.task;
  const auto [factorized_qk, factorized_ov] = model_.parameterization;
  const int d = training_.dimension, inner = training_.inner_dimension, classes = task.classes;
  MatrixXd key_factor, query_factor, out_factor, value_factor;  // inner x d, inner x d, C x inner, inner x d
  if (training_.init == Init::aligned) {
    // Rows: one mode of W_QK each, as unit vectors in the space of keys and of queries.
    const int modes = task.query == Query::shared ? 1 : classes;
    MatrixXd key_modes = MatrixXd::Zero(modes, keys_.rows()),
             query_modes = MatrixXd::Zero(modes, queries_.rows());
    if (modes == 1) {
      key_modes.leftCols(classes * task.pool).setConstant(1.0 / (classes * task.pool));
      key_modes.rightCols(task.common).setConstant(-1.0 / task.common);
      key_modes /= std::sqrt(task.qk_constant());
      query_modes(0, 0) = 1;
    } else {
      const int queries = queries_per_class(task);
      for (int c = 0; c < classes; ++c) {
        key_modes.block(c, c * task.pool, 1, task.pool).setConstant(1 / std::sqrt(task.pool));
        query_modes.block(c, c * queries, 1, queries).setConstant(1 / std::sqrt(queries));
      }
    }
    const auto [x, y] = factor_sizes(std::sqrt(task.qk_multiplier()) * model_.start.beta,
                                     factorized_qk ? model_.imbalance_qk : 0.0);
    const auto [o, v] =
        factor_sizes(std::sqrt(task.pool) * model_.start.u, factorized_ov ? model_.imbalance_ov : 0.0);
    key_factor = MatrixXd::Zero(inner, d);
    query_factor = MatrixXd::Zero(inner, d);
    key_factor.topRows(modes) = x * key_modes * keys_;
    query_factor.topRows(modes) = y * query_modes * queries_;
    // Every class against the mean of all.
    const MatrixXd projector =
        MatrixXd::Identity(classes, classes) - MatrixXd::Constant(classes, classes, 1.0 / classes);
    MatrixXd class_tokens = MatrixXd::Zero(classes, keys_.rows());
    for (int c = 0; c < classes; ++c)
      class_tokens.block(c, c * task.pool, 1, task.pool).setConstant(1 / std::sqrt(task.pool));
    out_factor = MatrixXd::Zero(classes, inner);
    value_factor = MatrixXd::Zero(inner, d);
    out_factor.leftCols(classes) = o * projector;
    value_factor.topRows(classes) = v * projector * class_tokens * keys_;
  } else if (training_.init == Init::identity) {
    key_factor = query_factor = value_factor = training_.init_scale * MatrixXd::Identity(inner, d);
    out_factor = training_.init_scale * MatrixXd::Identity(classes, inner);
  } else {
    std::mt19937_64 random(seed);
    key_factor = gaussian(inner, d, training_.init_scale, random, interrupted_);
    query_factor = gaussian(inner, d, training_.init_scale, random, interrupted_);
    out_factor = gaussian(classes, inner, training_.init_scale, random, interrupted_);
    value_factor = gaussian(inner, d, training_.init_scale, random, interrupted_);
  }
  weights_.qk =
      factorized_qk
          ? std::vector<MatrixXd>{key_factor, query_factor}
          : std::vector<MatrixXd>{numerics::product(key_factor.transpose(), query_factor, interrupted_)};
  weights_.ov = factorized_ov ? std::vector<MatrixXd>{out_factor, value_factor}
                              : std::vector<MatrixXd>{out_factor * value_factor};
}

FullModel::Forward FullModel::forward(const std::vector<Example>& examples, bool with_gradient) const {
  const Task& task = model_.task;
  numerics::throw_if(interrupted_);
  Forward f;
  if (weights_.ov.size() == 1)
    f.logits = weights_.ov[0] * keys_.transpose();
  else
    f.logits = weights_.ov[0] * (weights_.ov[1] * keys_.transpose()).eval();
  numerics::throw_if(interrupted_);
  if (weights_.qk.size() == 1)
    f.scores = keys_ * (weights_.qk[0] * queries_.transpose()).eval();
  else
    f.scores = (weights_.qk[0] * keys_.transpose()).eval().transpose() *
               (weights_.qk[1] * queries_.transpose()).eval();
  if (with_gradient) {
    f.logits_gradient = MatrixXd::Zero(f.logits.rows(), f.logits.cols());
    f.scores_gradient = MatrixXd::Zero(f.scores.rows(), f.scores.cols());
  }
  const int first_common = task.classes * task.pool;
  VectorXd attention, logits, residual;
  for (const Example& x : examples) {
    numerics::throw_if(interrupted_);
    const auto count = static_cast<Eigen::Index>(x.keys.size());
    attention.resize(count);
    for (Eigen::Index l = 0; l < count; ++l) attention[l] = f.scores(x.keys[l], x.query);
    attention = (attention.array() - attention.maxCoeff()).exp();
    for (Eigen::Index l = 0; l < count; ++l) attention[l] *= x.counts[l];
    attention /= attention.sum();
    logits.setZero(task.classes);
    double mass = 0;
    for (Eigen::Index l = 0; l < count; ++l) {
      logits += attention[l] * f.logits.col(x.keys[l]);
      if (x.keys[l] < first_common) mass += attention[l];
    }
    const double top = logits.maxCoeff();
    residual = (logits.array() - top).exp();
    const double sum = residual.sum();
    // log(1 + others/true) keeps its digits when the others are tiny.
    const double others = sum - residual[x.label];
    f.loss +=
        x.probability * (top == logits[x.label] ? std::log1p(others) : std::log(sum) + top - logits[x.label]);
    f.attention += x.probability * mass;
    f.margin += x.probability * (logits[x.label] * task.classes - logits.sum()) / (task.classes - 1);
    if (!with_gradient) continue;
    const double error = others / sum;
    residual /= sum;
    residual[x.label] = -error;
    const double baseline = residual.dot(logits);
    for (Eigen::Index l = 0; l < count; ++l) {
      const int key = x.keys[l];
      const double weight = x.probability * attention[l];
      f.scores_gradient(key, x.query) += weight * (residual.dot(f.logits.col(key)) - baseline);
      f.logits_gradient.col(key) += weight * residual;
    }
  }
  if (with_gradient && frozen_) f.scores_gradient.bottomRows(task.common).setZero();
  return f;
}

double FullModel::loss(const std::vector<Example>& examples) const { return forward(examples, false).loss; }

std::vector<MatrixXd> FullModel::ov_gradient(const Forward& f) const {
  numerics::throw_if(interrupted_);
  if (weights_.ov.size() == 1) return {f.logits_gradient * keys_};
  const MatrixXd values = weights_.ov[1] * keys_.transpose();
  return {f.logits_gradient * values.transpose(),
          (weights_.ov[0].transpose() * f.logits_gradient).eval() * keys_};
}

std::vector<MatrixXd> FullModel::qk_gradient(const Forward& f) const {
  numerics::throw_if(interrupted_);
  if (weights_.qk.size() == 1)
    return {numerics::product((keys_.transpose() * f.scores_gradient).eval(), queries_, interrupted_)};
  const MatrixXd keys = weights_.qk[0] * keys_.transpose(), queries = weights_.qk[1] * queries_.transpose();
  return {(queries * f.scores_gradient.transpose()).eval() * keys_,
          (keys * f.scores_gradient).eval() * queries_};
}

Weights FullModel::gradient(const std::vector<Example>& examples) const {
  const Forward f = forward(examples, true);
  return {qk_gradient(f), ov_gradient(f)};
}

void FullModel::descend(const std::vector<Example>& examples, double step_size) {
  const Forward f = forward(examples, true);
  const double ov_step = step_size * model_.eta_ov, qk_step = step_size * model_.eta_qk;
  const std::vector<MatrixXd> ov = ov_gradient(f);
  for (std::size_t i = 0; i < ov.size(); ++i) weights_.ov[i] -= ov_step * ov[i];
  if (weights_.qk.size() == 2) {
    const std::vector<MatrixXd> qk = qk_gradient(f);
    for (std::size_t i = 0; i < qk.size(); ++i) weights_.qk[i] -= qk_step * qk[i];
    return;
  }
  const MatrixXd left = (-qk_step) * (keys_.transpose() * f.scores_gradient);
  if (queries_.rows() >= 8) {
    numerics::for_column_blocks(
        left.rows(), left.cols(), queries_.cols(), interrupted_, [&](Eigen::Index first, Eigen::Index count) {
          weights_.qk[0].middleCols(first, count).noalias() += left * queries_.middleCols(first, count);
        });
    return;
  }
  for (Eigen::Index q = 0; q < queries_.rows(); ++q) {  // a general matrix product is slow at so low a rank
    numerics::throw_if(interrupted_);
    const VectorXd right = queries_.row(q);
    for (Eigen::Index j = 0; j < right.size(); ++j) weights_.qk[0].col(j) += right[j] * left.col(q);
  }
}

std::vector<SequenceMetrics> FullModel::metrics(const std::vector<Example>& sequences,
                                                double top_fraction) const {
  const numerics::OneThread one_thread;
  const Forward f = forward({}, false);
  std::vector<SequenceMetrics> found;
  for (const Example& x : sequences) {
    numerics::throw_if(interrupted_);
    AttendedSequence sequence;
    sequence.label = x.label;
    std::vector<int> tokens;
    for (std::size_t i = 0; i < x.keys.size(); ++i)
      tokens.insert(tokens.end(), std::lround(x.counts[i]), x.keys[i]);
    const auto length = static_cast<Eigen::Index>(tokens.size());
    sequence.attention.resize(length);
    sequence.token_logits.resize(model_.task.classes, length);
    for (Eigen::Index l = 0; l < length; ++l) {
      sequence.attention[l] = f.scores(tokens[l], x.query);
      sequence.token_logits.col(l) = f.logits.col(tokens[l]);
      sequence.relevant.push_back(tokens[l] < model_.task.classes * model_.task.pool);
    }
    sequence.attention = (sequence.attention.array() - sequence.attention.maxCoeff()).exp();
    sequence.attention /= sequence.attention.sum();
    found.push_back(sequence_metrics(sequence, top_count(top_fraction, static_cast<int>(length))));
  }
  return found;
}

Measurement FullModel::measure() const {
  const Task& task = model_.task;
  const Forward f = forward(population_, false);
  Measurement m;
  m.attention = f.attention;
  m.margin = f.margin;
  m.loss = f.loss;
  const int classes = task.classes, distinct = classes * task.pool;
  for (int token = 0; token < distinct; ++token) {
    const double own = f.logits(token / task.pool, token);
    m.u += (own * classes - f.logits.col(token).sum()) / ((classes - 1.0) * distinct);
  }
  for (const Example& x : population_)
    m.beta += x.probability * (f.scores.col(x.query).segment(x.label * task.pool, task.pool).mean() -
                               f.scores.col(x.query).tail(task.common).mean());
  MatrixXd logits_line = MatrixXd::Zero(classes, keys_.rows()),
           scores_line = MatrixXd::Zero(keys_.rows(), queries_.rows());
  for (int token = 0; token < distinct; ++token) {  // own logit u (C-1)/C, the others -u/C
    logits_line.col(token).setConstant(-m.u / classes);
    logits_line(token / task.pool, token) += m.u;
  }
  if (task.query == Query::shared) {
    const double unit = m.beta / task.qk_constant();
    scores_line.col(0).head(distinct).setConstant(unit / distinct);
    scores_line.col(0).tail(task.common).setConstant(-unit / task.common);
  } else {
    for (const Example& x : population_)
      scores_line.col(x.query).segment(x.label * task.pool, task.pool).setConstant(m.beta);
  }
  auto off = [](const MatrixXd& x, const MatrixXd& line) {
    return x.norm() > 0 ? (x - line).norm() / x.norm() : 0.0;
  };
  m.off_line_ov = off(f.logits, logits_line);
  m.off_line_qk = off(f.scores, scores_line);
  return m;
}

}  // namespace qksolve::flow
