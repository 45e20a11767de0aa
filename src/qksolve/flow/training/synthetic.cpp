#include "qksolve/flow/training/synthetic.hpp"

#include <array>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace qksolve::flow {

using Eigen::MatrixXd;

namespace {

using S = Synthetic;

int label_token(int label) { return S::vocabulary - S::common + 1 + label; }
int query_token(int label) { return label_token(label) + S::classes; }

// Rows of a matrix over the vocabulary that belong to the keys of one class.
template <class Matrix>
auto rows_of(Matrix& matrix, int label) {
  return std::pair(matrix.middleRows(label * S::distinct, S::distinct), matrix.bottomRows(S::common));
}

}  // namespace

SyntheticModel::SyntheticModel(const SyntheticTraining& training) : training_(training) {
  auto require = [](bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
  };
  require(training.eta_ov > 0 && std::isfinite(training.eta_ov), "eta_ov must be positive");
  require(training.eta_qk > 0 && std::isfinite(training.eta_qk), "eta_qk must be positive");
  require(training.init_scale > 0 && std::isfinite(training.init_scale),
          "the initial scale must be positive");
  require(training.batch >= 1, "the batch must be at least 1");
  require(training.steps >= 0, "steps must not be negative");
  require(!training.loss_target || *training.loss_target > 0, "the loss target must be positive");
  require(!training.frozen_attention || (*training.frozen_attention >= 0 && *training.frozen_attention <= 1),
          "the attention must lie in [0, 1]");
  const MatrixXd factor = training.init_scale * MatrixXd::Identity(S::vocabulary, S::vocabulary);
  const MatrixXd queries = factor.middleCols(query_token(0), S::classes);
  qk = training.parameterization.factorized_qk ? std::vector<MatrixXd>{factor, queries}
                                               : std::vector<MatrixXd>{factor * queries};
  const MatrixXd labels = factor.middleRows(label_token(0), S::classes);
  ov = training.parameterization.factorized_ov ? std::vector<MatrixXd>{labels, factor}
                                               : std::vector<MatrixXd>{labels * factor};
}

SyntheticModel::Batch SyntheticModel::draw(int count, std::mt19937_64& random,
                                           const numerics::Interrupt& interrupted) {
  // Keys as often as ten times their weight.
  static const std::vector<int> urn = [] {
    std::vector<int> keys;
    for (int k = 0; k < S::keys; ++k) keys.insert(keys.end(), k < S::distinct ? k + 1 : 10, k);
    return keys;
  }();
  std::uniform_int_distribution<int> any_class(0, S::classes - 1);
  std::uniform_int_distribution<std::size_t> any_key(0, urn.size() - 1);
  std::array<int, S::classes> sizes{};
  for (int i = 0; i < count; ++i) ++sizes[static_cast<std::size_t>(any_class(random))];
  Batch batch;
  for (int label = 0; label < S::classes; ++label) {
    Counts counts = Counts::Zero(S::keys, sizes[static_cast<std::size_t>(label)]);
    counts.row(query_token(label) - S::vocabulary + S::keys).setOnes();
    for (auto sequence : counts.colwise()) {
      numerics::throw_if(interrupted);
      for (int l = 0; l < S::context; ++l) sequence[urn[any_key(random)]] += 1;
    }
    batch.push_back(counts);
  }
  return batch;
}

MatrixXd SyntheticModel::scores() const {
  return qk.size() == 1 ? qk[0] : (qk[0].transpose() * qk[1]).eval();
}

MatrixXd SyntheticModel::logits() const { return ov.size() == 1 ? ov[0] : (ov[0] * ov[1]).eval(); }

SyntheticModel::Counts SyntheticModel::attend(const MatrixXd& scores, int label, const Counts& counts) const {
  Counts attention = counts;
  if (training_.frozen_attention) {
    auto normalize = [](auto rows, double sum) {
      for (auto sequence : rows.colwise()) sequence *= sum / std::max(1.0, sequence.sum());
    };
    normalize(attention.topRows(S::distinct), *training_.frozen_attention);
    normalize(attention.bottomRows(S::common), 1 - *training_.frozen_attention);
    return attention;
  }
  const auto [distinct, common] = rows_of(scores, label);
  Eigen::Matrix<double, S::keys, 1> weight;
  weight << distinct.col(label), common.col(label);
  weight = (weight.array() - weight.maxCoeff()).exp();
  attention.array().colwise() *= weight.array();
  attention.array().rowwise() /= attention.colwise().sum().array().eval();
  return attention;
}

SyntheticModel::Forward SyntheticModel::forward(const Batch& batch, bool with_gradient) const {
  const MatrixXd all_scores = scores(), by_token = logits();
  Forward f;
  if (with_gradient) {
    f.logits_gradient = MatrixXd::Zero(S::classes, S::vocabulary);
    f.scores_gradient = MatrixXd::Zero(S::vocabulary, S::classes);
  }
  Eigen::Index count = 0;
  for (const Counts& counts : batch) count += counts.cols();
  for (int label = 0; label < S::classes; ++label) {
    const Counts attention = attend(all_scores, label, batch[static_cast<std::size_t>(label)]);
    MatrixXd values(S::classes, S::keys);
    values << by_token.middleCols(label * S::distinct, S::distinct), by_token.rightCols(S::common);
    MatrixXd residual = values * attention;
    residual.rowwise() -= residual.colwise().maxCoeff().eval();
    f.loss -= residual.row(label).sum();
    residual = residual.array().exp();
    const Eigen::RowVectorXd sums = residual.colwise().sum();
    for (const double sum : sums) f.loss += std::log(sum);
    if (!with_gradient) continue;
    residual.array().rowwise() /= sums.array() * static_cast<double>(count);
    residual.row(label).array() -= 1.0 / static_cast<double>(count);
    const MatrixXd by_key = residual * attention.transpose();
    f.logits_gradient.middleCols(label * S::distinct, S::distinct) += by_key.leftCols(S::distinct);
    f.logits_gradient.rightCols(S::common) += by_key.rightCols(S::common);
    if (training_.frozen_attention) continue;
    Counts gain = values.transpose() * residual;
    gain.rowwise() -= attention.cwiseProduct(gain).colwise().sum().eval();
    const Eigen::Matrix<double, S::keys, 1> slope = attention.cwiseProduct(gain).rowwise().sum();
    f.scores_gradient.col(label).segment(label * S::distinct, S::distinct) = slope.head(S::distinct);
    f.scores_gradient.col(label).tail(S::common) = slope.tail(S::common);
  }
  f.loss /= static_cast<double>(count);
  return f;
}

double SyntheticModel::descend(const Batch& batch) {
  // The factors' gradients use the weights before the step.
  auto step = [](std::vector<MatrixXd>& factors, const MatrixXd& first, const MatrixXd& second) {
    factors[0] -= first;
    factors[1] -= second;
  };
  const Forward f = forward(batch, true);
  const MatrixXd ov_step = training_.eta_ov * f.logits_gradient;
  if (ov.size() == 1)
    ov[0] -= ov_step;
  else
    step(ov, ov_step * ov[1].transpose(), ov[0].transpose() * ov_step);
  const MatrixXd qk_step = training_.eta_qk * f.scores_gradient;
  if (training_.frozen_attention) return f.loss;
  if (qk.size() == 1)
    qk[0] -= qk_step;
  else
    step(qk, qk[1] * qk_step.transpose(), qk[0] * qk_step);
  return f.loss;
}

std::vector<SequenceMetrics> SyntheticModel::metrics(const Batch& batch, double top_fraction,
                                                     const numerics::Interrupt& interrupted) const {
  const MatrixXd all_scores = scores(), by_token = logits();
  constexpr int length = S::context + 1;
  std::vector<SequenceMetrics> found;
  for (int label = 0; label < S::classes; ++label) {
    const Counts& counts = batch[static_cast<std::size_t>(label)];
    const Counts attention = attend(all_scores, label, counts);
    for (Eigen::Index i = 0; i < counts.cols(); ++i) {
      numerics::throw_if(interrupted);
      AttendedSequence sequence{Eigen::VectorXd(length), MatrixXd(S::classes, length), {}, label};
      for (int k = 0; k < S::keys; ++k)
        for (int copy = 0; copy < counts(k, i); ++copy) {
          const auto l = static_cast<Eigen::Index>(sequence.relevant.size());
          const bool relevant = k < S::distinct;
          sequence.attention[l] = attention(k, i) / counts(k, i);
          sequence.token_logits.col(l) =
              by_token.col(relevant ? label * S::distinct + k : S::vocabulary - S::keys + k);
          sequence.relevant.push_back(relevant);
        }
      found.push_back(sequence_metrics(sequence, top_count(top_fraction, length)));
    }
  }
  return found;
}

SyntheticRun train(SyntheticModel& model, const numerics::Interrupt& interrupted) {
  const SyntheticTraining& training = model.training();
  std::mt19937_64 random(training.seed);
  SyntheticRun run;
  auto end = [&](Status status, const std::string& reason) {
    run.status = status;
    run.reason = reason;
    return run;
  };
  double sum = 0, sum_of_squares = 0;
  auto good = std::pair(model.qk, model.ov);
  while (run.steps < training.steps) {
    const double loss = model.descend(SyntheticModel::draw(training.batch, random, interrupted));
    if (!std::isfinite(loss)) {
      const std::string reason = "the loss is not finite after step " + std::to_string(run.steps) +
                                 "; the state is that after the last whole epoch before";
      std::tie(model.qk, model.ov) = good;
      run.steps -= run.steps % S::epoch;
      return end(Status::non_finite, reason);
    }
    ++run.steps;
    sum += loss;
    sum_of_squares += loss * loss;
    if (run.steps % S::epoch != 0) continue;
    run.loss = sum / S::epoch;
    run.loss_error =
        std::sqrt(std::max(0.0, sum_of_squares / S::epoch - run.loss * run.loss) / (S::epoch - 1));
    sum = sum_of_squares = 0;
    good = {model.qk, model.ov};
    if (training.loss_target && run.loss <= *training.loss_target) return run;
  }
  if (training.loss_target)
    return end(Status::iteration_limit, "the loss target is not reached in all steps");
  return run;
}

}  // namespace qksolve::flow
