#include "qksolve/flow/training/metrics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "qksolve/flow/training/full_matrix.hpp"

using namespace qksolve::flow;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Two classes; worked out by hand in the checks below.
std::vector<AttendedSequence> three_sequences() {
  AttendedSequence a, b, c;
  a.attention = Eigen::Vector3d(0.6, 0.3, 0.1);
  a.token_logits = (Eigen::MatrixXd(2, 3) << 2, 0, 0, 0, 1, 0).finished();
  a.relevant = {true, false, false};
  b.attention = Eigen::Vector2d(0.5, 0.5);
  b.token_logits = (Eigen::MatrixXd(2, 2) << 1, 0, 0, 3).finished();
  b.relevant = {false, true};
  c.attention = Eigen::VectorXd::Ones(1);
  c.token_logits = (Eigen::MatrixXd(2, 1) << 0, -1).finished();
  c.relevant = {false};
  return {a, b, c};
}

}  // namespace

TEST_CASE("metrics of three sequences worked out by hand") {
  const auto sequences = three_sequences();
  const SequenceMetrics a = sequence_metrics(sequences[0], 1), b = sequence_metrics(sequences[1], 1),
                        c = sequence_metrics(sequences[2], 1);
  // Logits (1.2, .3); the first token alone (2, 0); the others with attention .75, .25 (0, .75).
  CHECK(a.mass == doctest::Approx(0.6));
  CHECK(a.entropy == doctest::Approx(0.8979457249));
  CHECK(a.true_probability == doctest::Approx(sigmoid(0.9)));
  CHECK(a.sufficiency == doctest::Approx(sigmoid(0.9) - sigmoid(2)));
  CHECK(a.comprehensiveness == doctest::Approx(sigmoid(0.9) - sigmoid(-0.75)));
  // Logits (.5, 1.5), predicted class 1, true class 0; of equal attention the first token is the top one.
  CHECK(b.mass == doctest::Approx(0.5));
  CHECK(b.entropy == doctest::Approx(std::log(2.0)));
  CHECK(b.true_probability == doctest::Approx(sigmoid(-1)));
  CHECK(b.sufficiency == doctest::Approx(sigmoid(1) - sigmoid(-1)));
  CHECK(b.comprehensiveness == doctest::Approx(sigmoid(1) - sigmoid(3)));
  // One token: nothing is left without it.
  CHECK(c.mass == 0);
  CHECK(c.entropy == 0);
  CHECK(c.sufficiency == doctest::Approx(0));
  CHECK(c.comprehensiveness == doctest::Approx(sigmoid(1) - 0.5));

  const MetricSummary summary = summarize({a, b, c}, 0.1, 0.5, 2);
  CHECK(summary.attention_correct == doctest::Approx(2.0 / 3));
  CHECK(summary.attention_and_model_correct == doctest::Approx(1.0 / 3));
  CHECK(summary.mean.mass == doctest::Approx(1.1 / 3));
  const double spread = std::pow(0.6 - 1.1 / 3, 2) + std::pow(0.5 - 1.1 / 3, 2) + std::pow(1.1 / 3, 2);
  CHECK(summary.standard_error.mass == doctest::Approx(std::sqrt(spread / 6)));
  CHECK(summary.heatmap(0, 0) == 0);
  CHECK(summary.heatmap(0, 1) == doctest::Approx(100.0 / 3));
  CHECK(summary.heatmap(1, 0) == doctest::Approx(100.0 / 3));
  CHECK(summary.heatmap(1, 1) == doctest::Approx(100.0 / 3));
}

TEST_CASE("number of top tokens") {
  CHECK(top_count(0.05, 10) == 1);
  CHECK(top_count(0.05, 55) == 3);
  CHECK(top_count(1.0, 7) == 7);
}

TEST_CASE("on the line of the reduced flow the measured metrics are the reduced ones") {
  Model model;
  model.task = {4, 3, 6, 5, 9, Query::shared};
  model.start = {3.0, 1.2};
  Training training;
  training.dimension = 30;
  const FullModel full(model, training);
  const auto sequences = draw_sequences(model.task, 10, 1);
  for (const double fraction : {0.05, 5.0 / 14, 0.6, 1.0}) {
    const int top = top_count(fraction, 14);
    const SequenceMetrics expected = reduced_metrics(model, model.start, top);
    for (const SequenceMetrics& x : full.metrics(sequences, fraction)) {
      CHECK(x.mass == doctest::Approx(expected.mass));
      CHECK(x.entropy == doctest::Approx(expected.entropy));
      CHECK(x.true_probability == doctest::Approx(expected.true_probability));
      // Tokens off the exact order of attention by rounding are exchanged among equals only.
      CHECK(x.sufficiency == doctest::Approx(expected.sufficiency));
      CHECK(x.comprehensiveness == doctest::Approx(expected.comprehensiveness));
    }
    // The closed forms of both hold for top = m only; the first as long as no common token is kept, the
    // second once all distinct ones are deleted (and at least one token is left).
    const double s = model.margin(model.start), u = model.start.u;
    auto p = [](double margin) { return 1 / (1 + 3 * std::exp(-margin)); };
    CHECK((expected.sufficiency == doctest::Approx(p(s) - p(u))) == (top <= 5));
    CHECK((expected.comprehensiveness == doctest::Approx(p(s) - 0.25)) == (top >= 5));
  }
}

TEST_CASE("malformed sequences are refused") {
  CHECK_THROWS_AS(sequence_metrics({}, 1), std::invalid_argument);
  CHECK_THROWS_AS(summarize({}, 0.1, 0.5, 2), std::invalid_argument);
}
