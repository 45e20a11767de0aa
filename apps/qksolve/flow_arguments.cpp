#include "flow_arguments.hpp"

#include <algorithm>
#include <cmath>

#include "cli/usage.hpp"

namespace qksolve::app {

namespace {

std::vector<flow::Parameterization> parse_parameterizations(const std::string& text) {
  std::vector<flow::Parameterization> found;
  if (text == "all") return {std::begin(flow::kParameterizations), std::end(flow::kParameterizations)};
  for (const std::string& word : split(text, ',')) {
    const auto match = std::find_if(std::begin(flow::kParameterizations), std::end(flow::kParameterizations),
                                    [&](const flow::Parameterization& p) { return p.name() == word; });
    if (match == std::end(flow::kParameterizations) ||
        std::find(found.begin(), found.end(), *match) != found.end())
      throw UsageError("--parameterization: '" + text +
                       "' is not allowed, expected all, or each at most once of CACO, FACO, CAFO, FAFO");
    found.push_back(*match);
  }
  return found;
}

constexpr std::int64_t kLargestCount = 1000000;

}  // namespace

void declare_parameterizations(Options& options, std::vector<flow::Parameterization>& target,
                               const std::string& default_text) {
  options.text(
      "parameterization", "LIST|all", default_text,
      "Collapsed (C) or factorized (F) attention (A) and output-value (O) matrices: CACO,FACO,CAFO,FAFO",
      [&target](const std::string& text) { target = parse_parameterizations(text); },
      [&target] {
        results::Json names = results::Json::array();
        for (const flow::Parameterization& p : target) names.push_back(p.name());
        return names;
      });
}

void FlowArguments::declare_model(Options& options) {
  declare_parameterizations(options, parameterizations, "CACO");
  // One of --ratio and --eta-qk appears in the parameters of the result.
  options.text(
      "ratio", kListOrGrid, "1",
      "Learning rate of the query-key circuit over that of the output-value circuit, each > 0",
      [this](const std::string& text) { ratio = parse_grid("--ratio", text, kPositive); },
      [this] { return eta_qk ? results::Json() : results::Json(ratio); });
  options.text(
      "eta-qk", "REAL", "", "Learning rate of the query-key circuit, in place of --ratio, > 0",
      [this](const std::string& text) { eta_qk = parse_real("--eta-qk", text, kPositive); },
      [this] { return eta_qk ? results::Json(*eta_qk) : results::Json(); });
  options.real("eta-ov", eta_ov, kPositive, "Learning rate of the output-value circuit");
  options.integer("classes", classes, 2, kLargestCount, "Classes");
  options.integer("pool", pool, 1, kLargestCount, "Distinct tokens of one class");
  options.integer("common", common, 1, kLargestCount,
                  "Common tokens; the reduced flow depends on them with --query shared only");
  options.integer("distinct-per-sequence", distinct_per_sequence, 1, kLargestCount,
                  "Distinct tokens in a sequence, repetitions counted");
  options.integer("common-per-sequence", common_per_sequence, 1, kLargestCount,
                  "Common tokens in a sequence, repetitions counted");
  options.choice("query", query, {"shared", "per-class", "paper"},
                 "Query tokens: one for all classes, one per class, or a pool of them per class");
  options.real("u0", u0, {0.0, 1e6}, "Margin per unit attention at the start");
  options.real("beta0", beta0, {0.0, 500.0}, "Score gap at the start");
  options.real("imbalance-qk", imbalance_qk, {-1e6, 1e6},
               "Difference of the squares of the factors' norms, for factorized query-key circuits only");
  options.real("imbalance-ov", imbalance_ov, {-1e6, 1e6},
               "The same, for factorized output-value circuits only");
}

void FlowArguments::finish(const Options& options) {
  if (eta_qk) {
    if (options.given("ratio"))
      throw UsageError("--eta-qk: '" + to_text(*eta_qk) +
                       "' is not allowed together with --ratio, expected one of them");
    ratio = {*eta_qk / eta_ov};
  }
  auto in_range = [](double x) { return x > 0 && std::isfinite(x); };
  for (const double r : ratio) {
    const flow::Model m = model(parameterizations.front(), r);
    if (in_range(r) && in_range(m.eta_qk) && in_range(m.rate_ratio())) continue;
    throw UsageError((eta_qk ? "--eta-qk: '" + to_text(*eta_qk) : "--ratio: '" + to_text(r)) +
                     "' is not allowed with --eta-ov " + to_text(eta_ov) +
                     ", expected two rates and a ratio that are numbers between 0 and 1.8e308");
  }
  for (const flow::Parameterization& p : parameterizations) {
    const auto refuse_imbalance = [&](const std::string& circuit, double imbalance, bool factorized) {
      if (imbalance != 0 && !factorized)
        throw UsageError("--imbalance-" + circuit + ": '" + to_text(imbalance) + "' is not allowed with " +
                         p.name() + ", whose " + circuit +
                         " circuit is one matrix; expected only parameterizations that factorize it");
    };
    refuse_imbalance("qk", imbalance_qk, p.factorized_qk);
    refuse_imbalance("ov", imbalance_ov, p.factorized_ov);
    const flow::Model m = model(p, 1.0);
    if (m.ov_never_moves())
      throw UsageError(
          "--u0: 0 is not allowed with " + p.name() +
          " and --imbalance-ov 0, where u never moves; expected --u0 > 0 or another --imbalance-ov");
    if (m.qk_never_moves())
      throw UsageError(
          "--beta0: 0 is not allowed with " + p.name() +
          " and --imbalance-qk 0, where beta never moves; expected --beta0 > 0 or another --imbalance-qk");
  }
}

flow::Model FlowArguments::model(const flow::Parameterization& parameterization, double rate_ratio) const {
  flow::Model m;
  m.task = {static_cast<int>(classes),
            static_cast<int>(pool),
            static_cast<int>(common),
            static_cast<int>(distinct_per_sequence),
            static_cast<int>(common_per_sequence),
            query == "shared"  ? flow::Query::shared
            : query == "paper" ? flow::Query::paper
                               : flow::Query::per_class};
  m.parameterization = parameterization;
  m.eta_ov = eta_ov;
  m.eta_qk = eta_qk ? *eta_qk : rate_ratio * eta_ov;
  m.imbalance_ov = imbalance_ov;
  m.imbalance_qk = imbalance_qk;
  m.start = {u0, beta0};
  return m;
}

}  // namespace qksolve::app
