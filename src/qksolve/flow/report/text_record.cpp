#include "qksolve/flow/report/text_record.hpp"

#include "qksolve/flow/report/text_arms.hpp"

namespace qksolve::results {

namespace {

using flow::TokenMeasurement;
using numerics::MeanEstimate;

struct Quantity {
  const char* name;
  MeanEstimate TokenMeasurement::*value;
};
constexpr Quantity kQuantities[] = {
    {"loss", &TokenMeasurement::loss},
    {"accuracy", &TokenMeasurement::accuracy},
    {"mass", &TokenMeasurement::mass},
    {"uniform_mass", &TokenMeasurement::uniform_mass},
    {"entropy", &TokenMeasurement::entropy},
    {"top_token_relevant", &TokenMeasurement::top_token_relevant},
    {"attention_correct", &TokenMeasurement::attention_correct},
    {"attention_and_model_correct", &TokenMeasurement::attention_and_model_correct},
    {"attention_correct_twice_uniform", &TokenMeasurement::attention_correct_twice_uniform},
    {"attention_and_model_correct_twice_uniform",
     &TokenMeasurement::attention_and_model_correct_twice_uniform},
    {"true_probability", &TokenMeasurement::true_probability},
    {"sufficiency", &TokenMeasurement::sufficiency},
    {"comprehensiveness", &TokenMeasurement::comprehensiveness},
    {"u", &TokenMeasurement::u},
    {"beta", &TokenMeasurement::beta},
    {"p", &TokenMeasurement::p}};
const char* const kCorrelation = "mass_probability_correlation";

// Rows of differences between the records of two arms, seed by seed.
Json differences(Json row, const SeedRecords& records, const SeedRecords& reference) {
  std::size_t pairs = 0;
  for (const auto& [seed, record] : records) pairs += reference.contains(seed) ? 1 : 0;
  row["pairs"] = pairs;
  for (const std::string& name : text_quantities())
    put_interval(row, name, over_seeds(records, [&](std::int64_t seed) -> std::optional<double> {
                   const auto here = quantity(records, seed, name), there = quantity(reference, seed, name);
                   if (!here || !there) return std::nullopt;
                   return *here - *there;
                 }));
  return row;
}

Json mean_heatmap(const std::vector<const Json*>& heatmaps) {
  Json mean = *heatmaps.front();
  const auto count = static_cast<double>(heatmaps.size());
  for (std::size_t i = 0; i < mean.size(); ++i)
    for (std::size_t j = 0; j < mean[i].size(); ++j) {
      double sum = 0;
      for (const Json* heatmap : heatmaps) sum += heatmap->at(i).at(j).get<double>();
      mean[i][j] = sum / count;
    }
  return mean;
}

}  // namespace

const std::vector<std::string>& text_quantities() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found{"train_loss"};
    for (const Quantity& q : kQuantities) found.emplace_back(q.name);
    found.emplace_back(kCorrelation);
    return found;
  }();
  return names;
}

Json text_run(const Json& coordinates, const flow::TokenRun& run, const TokenMeasurement& measurement) {
  Json record = coordinates;
  record["status"] = flow::status_name(run.status);
  if (run.status != flow::Status::converged) record["reason"] = run.reason;
  record["steps"] = run.steps;
  put(record, "train_loss", run.train_loss);
  const auto put_estimate = [&](const char* name, const MeanEstimate& estimate) {
    put(record, name, estimate.mean);
    if (record.contains(name)) put(record, std::string(name) + "_error", estimate.error);
  };
  for (const Quantity& q : kQuantities) put_estimate(q.name, measurement.*q.value);
  if (measurement.correlation) put_estimate(kCorrelation, *measurement.correlation);
  Json heatmap = Json::array();
  for (Eigen::Index i = 0; i < measurement.heatmap.rows(); ++i) {
    heatmap.push_back(Json::array());
    for (Eigen::Index j = 0; j < measurement.heatmap.cols(); ++j)
      heatmap.back().push_back(measurement.heatmap(i, j));
  }
  return {{"record", record}, {"heatmap", heatmap}};
}

Json summarize_text(const std::vector<Json>& runs) {
  std::vector<Json> records;
  std::map<Arm, std::size_t> counts;
  std::map<Arm, std::vector<const Json*>> heatmaps;
  for (const Json& run : runs) {
    const Json& record = run.at("record");
    records.push_back(record);
    const Arm arm{record.at("parameterization"), record.at("ratio")};
    ++counts[arm];
    if (record.at("status") == "converged") heatmaps[arm].push_back(&run.at("heatmap"));
  }
  const Arms arms(records);
  Json rows = Json::array(), to_one = Json::array(), collapsed = Json::array(), slopes = Json::array(),
       attention = Json::array();
  for (const Arm& arm : arms.names()) {
    const SeedRecords& of_arm = arms.of(arm);
    const Json place{{"parameterization", arm.first}, {"ratio", arm.second}};
    Json row = place;
    row["runs"] = counts[arm];
    row["converged"] = of_arm.size();
    for (const std::string& name : text_quantities()) {
      const Eigen::VectorXd values =
          over_seeds(of_arm, [&](std::int64_t seed) { return quantity(of_arm, seed, name); });
      if (values.size() == 0) continue;
      const MeanEstimate mean = numerics::mean_estimate(values);
      put(row, name, mean.mean);
      put(row, name + "_error", mean.error);
    }
    rows.push_back(row);
    if (!heatmaps[arm].empty()) {
      attention.push_back(place);
      attention.back()["heatmap"] = mean_heatmap(heatmaps[arm]);
    }
    if (const SeedRecords& one = arms.of({arm.first, 1}); arm.second != 1 && !one.empty())
      to_one.push_back(differences(place, of_arm, one));
    if (arm.first.ends_with("CO"))
      if (const SeedRecords& other = arms.of({arm.first.substr(0, 2) + "FO", arm.second}); !other.empty())
        collapsed.push_back(
            differences({{"attention", arm.first.substr(0, 2)}, {"ratio", arm.second}}, of_arm, other));
  }
  for (const char* parameterization : {"CACO", "FACO", "CAFO", "FAFO"}) {
    const std::vector<double> ratios = arms.ratios(parameterization, kLowestRatio, kHighestRatio);
    if (ratios.size() < 2) continue;
    Json row{{"parameterization", parameterization}, {"ratios", ratios.size()}};
    for (const std::string& name : text_quantities())
      put_interval(row, name, over_seeds(arms.of({parameterization, ratios.front()}), [&](std::int64_t seed) {
                     return slope_of(arms, parameterization, ratios, seed, name);
                   }));
    slopes.push_back(row);
  }
  return {{"arms", rows},     {"to_ratio_one", to_one},         {"collapsed_less_factorized", collapsed},
          {"slopes", slopes}, {"claims", text_claims(records)}, {"attention", attention}};
}

}  // namespace qksolve::results
