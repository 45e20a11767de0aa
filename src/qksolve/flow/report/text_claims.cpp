#include <algorithm>

#include "qksolve/flow/report/text_arms.hpp"
#include "qksolve/flow/report/text_record.hpp"

namespace qksolve::results {

namespace {

constexpr double kOnePoint = 0.01;  // of accuracy

enum class Test { negative, positive, within_one_point };

std::string verdict(Test test, const Json& row) {
  if (!row.contains("value_low")) return "open";
  const double low = row.at("value_low"), high = row.at("value_high");
  switch (test) {
    case Test::negative:
      return high < 0 ? "holds" : low > 0 ? "fails" : "open";
    case Test::positive:
      return low > 0 ? "holds" : high < 0 ? "fails" : "open";
    case Test::within_one_point:
      return low > -kOnePoint && high < kOnePoint   ? "holds"
             : low > kOnePoint || high < -kOnePoint ? "fails"
                                                    : "open";
  }
  return "open";
}

class Claims {
 public:
  explicit Claims(const std::vector<Json>& records) : arms_(records) {}

  // Slope of a quantity against ln ratio, for every parameterization that has two ratios of .1 to 10.
  void add_slopes(const std::string& claim, const std::string& name, Test test) {
    for (const std::string parameterization : kAll) {
      const std::vector<double> ratios = arms_.ratios(parameterization, kLowestRatio, kHighestRatio);
      if (ratios.size() < 2) continue;
      add(claim, name + " against ln ratio", parameterization, test,
          over_seeds(arms_.of({parameterization, ratios.front()}), [&](std::int64_t seed) {
            return slope_of(arms_, parameterization, ratios, seed, name);
          }));
    }
  }

  // A quantity at one ratio less that at ratio 1.
  void add_change(const std::string& claim, const std::string& name, double ratio, Test test) {
    for (const std::string parameterization : kAll) {
      const SeedRecords &here = arms_.of({parameterization, ratio}), &one = arms_.of({parameterization, 1});
      if (here.empty() || one.empty()) continue;
      add(claim, name + " at ratio " + Json(static_cast<int>(ratio)).dump() + " less that at 1",
          parameterization, test, difference(here, one, name));
    }
  }

  // Collapsed less factorized output-value at ratio 1.
  void add_collapsed(const std::string& claim, const std::string& name, Test test) {
    for (const std::string attention : {"CA", "FA"}) {
      const SeedRecords &collapsed = arms_.of({attention + "CO", 1}),
                        &factorized = arms_.of({attention + "FO", 1});
      if (collapsed.empty() || factorized.empty()) continue;
      add(claim, name + " at ratio 1, collapsed less factorized output-value", attention, test,
          difference(collapsed, factorized, name));
    }
  }

  // Distance of FAFO at ratio 10 to FACO at ratio 1, less that of FAFO at ratio 1.
  void add_nearer(const std::string& claim, const std::string& name) {
    const SeedRecords &fast = arms_.of({"FAFO", 10}), &slow = arms_.of({"FAFO", 1}),
                      &goal = arms_.of({"FACO", 1});
    if (fast.empty() || slow.empty() || goal.empty()) return;
    add(claim, name + ", distance of ratio 10 to FACO at ratio 1 less that of ratio 1", "FAFO",
        Test::negative, over_seeds(fast, [&](std::int64_t seed) -> std::optional<double> {
          const auto f = quantity(fast, seed, name), s = quantity(slow, seed, name),
                     g = quantity(goal, seed, name);
          if (!f || !s || !g) return std::nullopt;
          return std::abs(*f - *g) - std::abs(*s - *g);
        }));
  }

  Json rows = Json::array();

 private:
  static constexpr const char* kAll[] = {"CACO", "FACO", "CAFO", "FAFO"};

  static Eigen::VectorXd difference(const SeedRecords& here, const SeedRecords& there,
                                    const std::string& name) {
    return over_seeds(here, [&](std::int64_t seed) -> std::optional<double> {
      const auto a = quantity(here, seed, name), b = quantity(there, seed, name);
      if (!a || !b) return std::nullopt;
      return *a - *b;
    });
  }

  void add(const std::string& claim, const std::string& what, const std::string& where, Test test,
           const Eigen::VectorXd& values) {
    Json row{{"claim", claim}, {"quantity", what}, {"where", where}, {"pairs", values.size()}};
    put_interval(row, "value", values);
    row["expected"] = test == Test::negative   ? "negative"
                      : test == Test::positive ? "positive"
                                               : "within 0.01";
    row["verdict"] = verdict(test, row);
    rows.push_back(row);
  }

  Arms arms_;
};

}  // namespace

Json text_claims(const std::vector<Json>& records) {
  Claims claims(records);
  claims.add_slopes("faster query-key learning sharpens attention", "entropy", Test::negative);
  claims.add_slopes("attention moves to relevant tokens", "mass", Test::positive);
  claims.add_change("accuracy does not change", "accuracy", 10, Test::within_one_point);
  claims.add_change("accuracy does not change", "accuracy", 100, Test::within_one_point);
  for (const char* name : {"attention_correct", "attention_correct_twice_uniform",
                           "attention_and_model_correct", "attention_and_model_correct_twice_uniform"})
    claims.add_slopes("attention is correct more often", name, Test::positive);
  claims.add_change("the top tokens suffice better", "sufficiency", 10, Test::negative);
  claims.add_change("the top tokens are needed more", "comprehensiveness", 10, Test::positive);
  claims.add_collapsed("collapsed output-value is sharper", "entropy", Test::negative);
  claims.add_collapsed("collapsed output-value is sharper", "mass", Test::positive);
  claims.add_nearer("accelerated FAFO is like FACO", "entropy");
  claims.add_nearer("accelerated FAFO is like FACO", "mass");
  claims.add_slopes("attention and prediction decouple", "mass_probability_correlation", Test::negative);
  return claims.rows;
}

}  // namespace qksolve::results
