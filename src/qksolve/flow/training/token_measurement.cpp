#include "qksolve/flow/training/token_measurement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace qksolve::flow {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using numerics::MeanEstimate;

MeanEstimate mean(const std::vector<double>& values) {
  if (values.empty()) return {std::numeric_limits<double>::quiet_NaN(), {}};
  return numerics::mean_estimate(
      Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size())));
}

std::optional<MeanEstimate> correlation_of(const std::vector<double>& x, const std::vector<double>& y) {
  const double n = static_cast<double>(x.size()), x_mean = mean(x).mean, y_mean = mean(y).mean;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    yy += (y[i] - y_mean) * (y[i] - y_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  if (x.size() < 3 || !(xx > 0) || !(yy > 0)) return std::nullopt;
  const double r = std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
  return MeanEstimate{r, (1 - r * r) / std::sqrt(n - 1)};
}

}  // namespace

TokenMeasurement measure(const TokenModel& model, const TokenizedExamples& examples,
                         const AttentionThresholds& thresholds) {
  std::vector<double> loss, accuracy, entropy, true_probability, sufficiency, comprehensiveness;
  std::vector<double> mass, uniform, top_relevant, probability, u, beta, relevant_counts, other_counts;
  std::vector<SequenceMetrics> annotated;
  for (std::int64_t i = 0; i < examples.size(); ++i) {
    const AttendedSequence x = model.attend(examples, i);
    const auto length = static_cast<int>(x.attention.size());
    SequenceMetrics m = sequence_metrics(x, top_count(thresholds.top_fraction, length));
    const VectorXd logits = x.token_logits * x.attention;
    Index predicted = 0;
    const double largest = logits.maxCoeff(&predicted);
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit - largest);
    loss.push_back(std::log(sum) + largest - logits[x.label]);
    accuracy.push_back(predicted == x.label ? 1 : 0);
    entropy.push_back(m.entropy);
    true_probability.push_back(m.true_probability);
    sufficiency.push_back(m.sufficiency);
    comprehensiveness.push_back(m.comprehensiveness);

    const Eigen::Map<const VectorXd> weight(
        examples.relevant.data() + examples.first[static_cast<std::size_t>(i)], length);
    const double relevant = weight.sum(), other = length - relevant;
    if (!(relevant > 0)) continue;
    m.mass = weight.dot(x.attention);
    mass.push_back(m.mass);
    uniform.push_back(relevant / length);
    probability.push_back(m.true_probability);
    annotated.push_back(m);
    Index top = 0;
    x.attention.maxCoeff(&top);
    top_relevant.push_back(x.relevant[static_cast<std::size_t>(top)] ? 1 : 0);
    const Index classes = x.token_logits.rows();
    const VectorXd margins =
        (x.token_logits.row(x.label) * static_cast<double>(classes) - x.token_logits.colwise().sum()) /
        static_cast<double>(classes - 1);
    u.push_back(margins.dot(weight) / relevant);
    relevant_counts.push_back(relevant);
    other_counts.push_back(other);
    if (!(other > 0)) continue;
    const VectorXd scores = model.scores(examples, i);
    beta.push_back(scores.dot(weight) / relevant - (scores.sum() - scores.dot(weight)) / other);
  }
  if (mass.empty()) throw std::invalid_argument("no example has a relevant token");

  TokenMeasurement found;
  found.loss = mean(loss);
  found.accuracy = mean(accuracy);
  found.entropy = mean(entropy);
  found.true_probability = mean(true_probability);
  found.sufficiency = mean(sufficiency);
  found.comprehensiveness = mean(comprehensiveness);
  found.mass = mean(mass);
  found.uniform_mass = mean(uniform);
  found.top_token_relevant = mean(top_relevant);
  const auto correct = [&](double threshold, bool with_model) {
    std::vector<double> is(mass.size());
    for (std::size_t i = 0; i < is.size(); ++i)
      is[i] = mass[i] > threshold && (!with_model || probability[i] > thresholds.probability) ? 1 : 0;
    return mean(is);
  };
  found.attention_correct = correct(thresholds.attention, false);
  found.attention_and_model_correct = correct(thresholds.attention, true);
  found.attention_correct_twice_uniform = correct(2 * found.uniform_mass.mean, false);
  found.attention_and_model_correct_twice_uniform = correct(2 * found.uniform_mass.mean, true);
  found.u = mean(u);
  found.beta = mean(beta);
  std::vector<double> reduced(relevant_counts.size()), slopes(relevant_counts.size());
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    reduced[i] = 1 / (1 + other_counts[i] / relevant_counts[i] * std::exp(-found.beta.mean));
    slopes[i] = reduced[i] * (1 - reduced[i]);
  }
  found.p = beta.empty() ? found.mass : mean(reduced);
  if (found.p.error && found.beta.error)
    found.p.error = std::hypot(*found.p.error, mean(slopes).mean * *found.beta.error);
  found.correlation = correlation_of(mass, probability);
  found.heatmap =
      summarize(annotated, thresholds.attention, thresholds.probability, TokenMeasurement::kHeatmapBins)
          .heatmap;
  return found;
}

}  // namespace qksolve::flow
