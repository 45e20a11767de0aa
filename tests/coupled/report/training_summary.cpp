// The summary of training runs, on runs made by hand.
#include "qksolve/coupled/report/training_summary.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace qksolve::results;
using doctest::Approx;

namespace {

TrainedModel text_run(const std::string& variant, int seed, double loss,
                      const std::vector<double>& curve = {}) {
  TrainedModel m;
  m.record = {{"variant", variant}, {"seed", seed}, {"status", "converged"}, {"parameter_count", 10}};
  if (variant != "standard") m.record["coupling_steps"] = 1;
  m.record["loss"] = loss;
  m.record["perplexity"] = std::exp(loss);
  m.record["step_size_1"] = 0.1 * seed;
  m.record["entropy_1"] = 1.0;
  int step = 0;
  for (const double l : curve) m.curve.push_back({{"step", ++step}, {"tokens", 100 * step}, {"loss", l}});
  if (curve.empty()) m.curve.push_back({{"step", 1}, {"tokens", 100}, {"loss", loss}});
  return m;
}

TrainedModel recall_run(const std::string& variant, int seed, double steps_to_solve) {
  TrainedModel m = text_run(variant, seed, steps_to_solve > 0 ? 0.1 : 2.0);
  m.record.erase("perplexity");
  m.record["accuracy"] = steps_to_solve > 0 ? 1.0 : 0.2;
  if (steps_to_solve > 0) m.record["steps_to_solve"] = steps_to_solve;
  return m;
}

const Json& row(const Json& summary, const std::string& variant) {
  for (const Json& r : summary["variants"])
    if (r["variant"] == variant) return r;
  FAIL("no row");
  return summary;
}

}  // namespace

TEST_CASE("means, spreads and paired differences are those of the seeds in common") {
  const Json s = summarize_training({text_run("standard", 1, 2.0), text_run("standard", 2, 2.2),
                                     text_run("standard", 3, 2.4), text_run("euler", 1, 1.9),
                                     text_run("euler", 2, 2.1), text_run("euler", 3, 2.2),
                                     text_run("euler", 9, 7.0), text_run("uncoupled", 1, 2.0)});
  const Json &standard = row(s, "standard"), &euler = row(s, "euler");
  CHECK(standard["loss"].get<double>() == Approx(2.2));
  CHECK(standard["loss_spread"].get<double>() == Approx(0.2));
  CHECK(standard["loss_error"].get<double>() == Approx(0.2 / std::sqrt(3.0)));
  CHECK_FALSE(standard.contains("difference_to_standard"));
  CHECK(euler["runs"] == 4);
  CHECK(euler["difference_to_standard_pairs"] == 3);
  // Differences -.1 -.1 -.2: mean -.4/3, standard error 1/30, and 4.302653 quantile of Student's law with 2
  // degrees.
  CHECK(euler["difference_to_standard"].get<double>() == Approx(-0.4 / 3));
  CHECK(euler["difference_to_standard_low"].get<double>() == Approx(-0.4 / 3 - 4.302653 / 30).epsilon(1e-6));
  CHECK(euler["difference_to_standard_high"].get<double>() == Approx(-0.4 / 3 + 4.302653 / 30).epsilon(1e-5));
  CHECK(euler["perplexity_change_to_standard"].get<double>() == Approx(100 * (std::exp(-0.4 / 3) - 1)));
  CHECK(euler["step_size_1"].get<double>() == Approx(0.1 * (1 + 2 + 3 + 9) / 4));
  // One pair has no interval.
  CHECK(euler["difference_to_uncoupled_pairs"] == 1);
  CHECK_FALSE(euler.contains("difference_to_uncoupled"));
}

TEST_CASE("the ratio of variances carries the interval of Fisher's law") {
  const Json s = summarize_training({text_run("standard", 1, 2.0), text_run("standard", 2, 2.1),
                                     text_run("standard", 3, 2.2), text_run("euler", 1, 2.0),
                                     text_run("euler", 2, 2.2), text_run("euler", 3, 2.4)});
  const Json& euler = row(s, "euler");
  CHECK(euler["variance_ratio"].get<double>() == Approx(4));
  // F(2, 2) has the distribution function x/(1 + x), hence the quantiles 1/39 and 39.
  CHECK(euler["variance_ratio_low"].get<double>() == Approx(4.0 / 39));
  CHECK(euler["variance_ratio_high"].get<double>() == Approx(4.0 * 39));
}

TEST_CASE("rates of solved runs, their interval and the median") {
  std::vector<TrainedModel> runs;
  for (int seed = 0; seed < 8; ++seed) {
    runs.push_back(recall_run("standard", seed, seed < 3 ? 100 + 10 * seed : 0));
    runs.push_back(recall_run("euler", seed, 50 + 10 * seed));
    runs.push_back(recall_run("leapfrog", seed, seed < 5 ? 60 + 10 * seed : 0));
    runs.push_back(recall_run("uncoupled", seed, 0));
  }
  const Json s = summarize_training(runs);
  CHECK(row(s, "standard")["solved"] == 3);
  CHECK(row(s, "standard")["solve_rate"].get<double>() == 3.0 / 8);
  // Clopper & Pearson for 3 of 8: the tail probabilities of the binomial law at the ends are .025.
  auto upper_tail = [](double p, int from) {
    double sum = 0;
    for (int k = from; k <= 8; ++k)
      sum +=
          std::tgamma(9) / std::tgamma(k + 1) / std::tgamma(9 - k) * std::pow(p, k) * std::pow(1 - p, 8 - k);
    return sum;
  };
  CHECK(upper_tail(row(s, "standard")["solve_rate_low"], 3) == Approx(0.025));
  CHECK(1 - upper_tail(row(s, "standard")["solve_rate_high"], 4) == Approx(0.025));
  CHECK_FALSE(row(s, "standard").contains("median_steps_to_solve"));
  CHECK(row(s, "euler")["median_steps_to_solve"] == 85);
  CHECK(row(s, "euler")["solve_rate_low"].get<double>() == Approx(std::pow(0.025, 1.0 / 8)));
  CHECK(row(s, "euler")["solve_rate_high"] == 1.0);
  CHECK(row(s, "leapfrog")["median_steps_to_solve"] == 95);  // the five, then infinity: between 90 and 100
  CHECK(row(s, "uncoupled")["solve_rate_low"] == 0.0);
  CHECK(row(s, "uncoupled")["accuracy_difference_to_standard"].get<double>() == Approx(-0.8 * 3 / 8));
}

TEST_CASE("sample efficiency: the share of tokens after which the standard model's loss is reached") {
  const Json s = summarize_training(
      {text_run("standard", 1, 2.0, {3, 2.5, 2.2, 2.0}), text_run("standard", 2, 2.0, {3, 2.5, 2.2, 2.0}),
       text_run("euler", 1, 1.5, {2.5, 2.1, 1.9, 1.5}), text_run("euler", 2, 2.1, {3, 2.6, 2.3, 2.1})});
  // Halfway between the second and the third of four evaluations, and never.
  CHECK(row(s, "euler")["reached"] == 1);
  CHECK(row(s, "euler")["tokens_ratio"].get<double>() == Approx(2.5 / 4));
  CHECK_FALSE(row(s, "euler").contains("tokens_ratio_error"));
  CHECK(row(s, "standard")["tokens_ratio"].get<double>() == Approx(1));
}

TEST_CASE("runs that failed are counted and left out") {
  TrainedModel failed;
  failed.record = {{"variant", "euler"},
                   {"coupling_steps", 1},
                   {"seed", 1},
                   {"status", "non_finite"},
                   {"parameter_count", 10}};
  const Json s = summarize_training({text_run("standard", 1, 2.0), failed});
  CHECK(row(s, "euler")["runs"] == 1);
  CHECK(row(s, "euler")["converged"] == 0);
  CHECK_FALSE(row(s, "euler").contains("loss"));
  CHECK(row(s, "standard")["loss"] == 2.0);
}
