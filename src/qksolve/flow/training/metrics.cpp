#include "qksolve/flow/training/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace qksolve::flow {
namespace {

constexpr double SequenceMetrics::*kFields[] = {
    &SequenceMetrics::mass, &SequenceMetrics::entropy, &SequenceMetrics::true_probability,
    &SequenceMetrics::sufficiency, &SequenceMetrics::comprehensiveness};

// Probabilities of the classes when only the kept tokens are there.
Eigen::VectorXd probabilities(const AttendedSequence& x, const std::vector<bool>& keep) {
  Eigen::VectorXd logits = Eigen::VectorXd::Zero(x.token_logits.rows());
  double sum = 0;
  for (Eigen::Index l = 0; l < x.attention.size(); ++l) {
    if (!keep[static_cast<std::size_t>(l)]) continue;
    logits += x.attention[l] * x.token_logits.col(l);
    sum += x.attention[l];
  }
  if (sum > 0) logits /= sum;
  Eigen::VectorXd p = (logits.array() - logits.maxCoeff()).exp();
  return p / p.sum();
}

double plogp(double p, double count) { return p > 0 ? p * std::log(p / count) : 0.0; }

}  // namespace

int top_count(double fraction, int length) {
  return std::clamp(static_cast<int>(std::ceil(fraction * length)), 1, std::max(1, length));
}

SequenceMetrics sequence_metrics(const AttendedSequence& x, int top) {
  const auto length = static_cast<std::size_t>(x.attention.size());
  if (length == 0 || x.relevant.size() != length || x.token_logits.cols() != x.attention.size())
    throw std::invalid_argument("a sequence needs attention, logits and relevance of each of its tokens");
  SequenceMetrics m;
  for (std::size_t l = 0; l < length; ++l) {
    const double a = x.attention[static_cast<Eigen::Index>(l)];
    if (x.relevant[l]) m.mass += a;
    m.entropy -= plogp(a, 1.0);
  }
  std::vector<Eigen::Index> order(length);
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return x.attention[a] > x.attention[b]; });
  std::vector<bool> in_top(length, false);
  for (std::size_t i = 0; i < std::min(length, static_cast<std::size_t>(top)); ++i)
    in_top[static_cast<std::size_t>(order[i])] = true;
  std::vector<bool> rest = in_top;
  rest.flip();
  const Eigen::VectorXd all = probabilities(x, std::vector<bool>(length, true));
  Eigen::Index predicted = 0;
  all.maxCoeff(&predicted);
  m.true_probability = all[x.label];
  m.sufficiency = all[predicted] - probabilities(x, in_top)[predicted];
  m.comprehensiveness = all[predicted] - probabilities(x, rest)[predicted];
  return m;
}

SequenceMetrics reduced_metrics(const Model& model, const State& state, int top) {
  const int distinct = model.task.distinct_per_sequence, common = model.task.common_per_sequence;
  auto probability = [&](double margin) { return 1 / (1 + (model.task.classes - 1) * std::exp(-margin)); };
  // Margin when so many tokens are left; without any it is 0.
  auto margin = [&](int distinct_left, int common_left) {
    if (distinct_left == 0) return 0.0;
    return state.u / (1 + common_left * std::exp(-state.beta) / distinct_left);
  };
  const int top_distinct = std::min(top, distinct), top_common = std::min(top - top_distinct, common);
  const double p = model.attention(state.beta), missing = model.attention_missing(state.beta);
  SequenceMetrics m;
  m.mass = p;
  m.entropy = -plogp(p, distinct) - plogp(missing, common);
  m.true_probability = probability(p * state.u);
  m.sufficiency = m.true_probability - probability(margin(top_distinct, top_common));
  m.comprehensiveness =
      m.true_probability - probability(margin(distinct - top_distinct, common - top_common));
  return m;
}

MetricSummary summarize(const std::vector<SequenceMetrics>& sequences, double attention_threshold,
                        double probability_threshold, int bins) {
  if (sequences.empty() || bins < 1)
    throw std::invalid_argument("metrics need at least one sequence and one bin");
  const auto count = static_cast<double>(sequences.size());
  MetricSummary summary;
  summary.heatmap = Eigen::MatrixXd::Zero(bins, bins);
  auto bin = [&](double x) { return std::clamp(static_cast<int>(x * bins), 0, bins - 1); };
  for (const SequenceMetrics& x : sequences) {
    for (const auto field : kFields) summary.mean.*field += x.*field / count;
    const bool correct = x.mass > attention_threshold;
    summary.attention_correct += correct;
    summary.attention_and_model_correct += correct && x.true_probability > probability_threshold;
    summary.heatmap(bin(x.mass), bin(x.true_probability)) += 1;
  }
  summary.attention_correct /= count;
  summary.attention_and_model_correct /= count;
  summary.heatmap *= 100 / count;
  if (sequences.size() < 2) return summary;
  for (const auto field : kFields) {
    double sum = 0;
    for (const SequenceMetrics& x : sequences)
      sum += (x.*field - summary.mean.*field) * (x.*field - summary.mean.*field);
    summary.standard_error.*field = std::sqrt(sum / (count - 1) / count);
  }
  return summary;
}

}  // namespace qksolve::flow
