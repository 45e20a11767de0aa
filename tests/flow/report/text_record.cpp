// The summary of runs on text, from records made by hand.
#include "qksolve/flow/report/text_record.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace qksolve::results;

namespace {

// Entropy falls with slope -0.5 - seed/10 against ln ratio, mass does not change, accuracy rises by two
// points a decade.
Json run_of(const std::string& parameterization, double ratio, int seed,
            const std::string& status = "converged") {
  const double x = std::log(ratio);
  Json record{{"task", "annotated"},
              {"parameterization", parameterization},
              {"ratio", ratio},
              {"seed", seed},
              {"status", status},
              {"train_loss", 0.25},
              {"entropy", 2 - (0.5 + seed / 10.0) * x},
              {"mass", 0.3 + (seed - 0.5) * 0.001 * x},
              {"accuracy", 0.8 + 0.02 * std::log10(ratio) + seed * 0.1}};
  if (parameterization.ends_with("CO"))
    record["entropy"] = record["entropy"].get<double>() - 1 - seed / 100.0;
  return {{"record", record}, {"heatmap", {{50.0 + seed, 50.0 - seed}, {0, 0}}}};
}

std::vector<Json> runs() {
  std::vector<Json> found;
  for (const std::string p : {"CACO", "CAFO"})
    for (const double ratio : {0.1, 1.0, 10.0})
      for (int seed = 0; seed < 2; ++seed) found.push_back(run_of(p, ratio, seed));
  return found;
}

const Json& claim(const Json& summary, const std::string& quantity, const std::string& where) {
  for (const Json& row : summary.at("claims"))
    if (row.at("quantity") == quantity && row.at("where") == where) return row;
  throw std::runtime_error("no claim about " + quantity);
}

}  // namespace

TEST_CASE("arms, slopes and paired differences") {
  const Json summary = summarize_text(runs());
  REQUIRE(summary["arms"].size() == 6);
  CHECK(summary["arms"][0]["converged"] == 2);
  CHECK(summary["arms"][1]["accuracy"].get<double>() == doctest::Approx(0.85));
  CHECK(summary["arms"][1]["accuracy_error"].get<double>() == doctest::Approx(0.05));
  REQUIRE(summary["slopes"].size() == 2);
  CHECK(summary["slopes"][0]["entropy"].get<double>() == doctest::Approx(-0.55));
  // Two seeds: t = 12.7062 with one degree of freedom, standard error .05.
  CHECK(summary["slopes"][0]["entropy_low"].get<double>() == doctest::Approx(-0.55 - 12.7062047 * 0.05));
  REQUIRE(summary["to_ratio_one"].size() == 4);
  CHECK(summary["to_ratio_one"][1]["accuracy"].get<double>() == doctest::Approx(0.02));
  CHECK(summary["to_ratio_one"][1]["accuracy_high"].get<double>() == doctest::Approx(0.02));
  REQUIRE(summary["collapsed_less_factorized"].size() == 3);
  CHECK(summary["collapsed_less_factorized"][0]["entropy"].get<double>() == doctest::Approx(-1.005));
  CHECK(summary["attention"][0]["heatmap"][0][0] == 50.5);
}

TEST_CASE("a claim holds or fails where its interval is on one side, else it is open") {
  const Json summary = summarize_text(runs());
  CHECK(claim(summary, "entropy at ratio 1, collapsed less factorized output-value", "CA")["verdict"] ==
        "holds");
  CHECK(claim(summary, "entropy against ln ratio", "CACO")["verdict"] == "open");  // two seeds are too few
  CHECK(claim(summary, "mass against ln ratio", "CACO")["verdict"] == "open");
  CHECK(claim(summary, "accuracy at ratio 10 less that at 1", "CAFO")["verdict"] == "fails");
  std::vector<Json> many = runs();
  for (int seed = 2; seed < 6; ++seed)
    for (const double ratio : {0.1, 1.0, 10.0}) many.push_back(run_of("CACO", ratio, seed));
  CHECK(claim(summarize_text(many), "entropy against ln ratio", "CACO")["verdict"] == "holds");
}

TEST_CASE("runs that did not converge are counted and left out") {
  std::vector<Json> some = runs();
  some.push_back(run_of("CACO", 10, 2, "step_limit"));
  const Json summary = summarize_text(some);
  CHECK(summary["arms"][2]["runs"] == 3);
  CHECK(summary["arms"][2]["converged"] == 2);
  const std::vector<Json> none{run_of("FAFO", 1, 0, "non_finite")};
  CHECK(summarize_text(none)["arms"][0]["converged"] == 0);
  CHECK(summarize_text(none)["claims"].empty());
  CHECK(summarize_text({})["arms"].empty());
}
