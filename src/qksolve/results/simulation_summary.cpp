#include "qksolve/results/simulation_summary.hpp"

#include <algorithm>
#include <string>

#include "qksolve/numerics/statistics.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::results {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

const std::vector<std::string> kGroupKeys{"alpha", "omega", "d", "init", "optimizer"};
const std::vector<std::string> kNotAveraged{"gradient_norm", "gen_error_error", "instance", "seed",
                                            "iterations"};

Json coordinates(const Json& record, const std::vector<std::string>& keys) {
  Json at = Json::object();
  for (const std::string& key : keys) at[key] = record.at(key);
  return at;
}

// Row numbers of equal coordinates, in order of appearance.
std::vector<std::pair<Json, std::vector<std::size_t>>> group(const std::vector<Json>& rows,
                                                             const std::vector<std::string>& keys) {
  std::vector<std::pair<Json, std::vector<std::size_t>>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json at = coordinates(rows[i], keys);
    auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == at; });
    if (found == groups.end()) found = groups.emplace(groups.end(), at, std::vector<std::size_t>());
    found->second.push_back(i);
  }
  return groups;
}

bool averaged(const std::string& key, const Json& value) {
  return value.is_number() && std::find(kGroupKeys.begin(), kGroupKeys.end(), key) == kGroupKeys.end() &&
         std::find(kNotAveraged.begin(), kNotAveraged.end(), key) == kNotAveraged.end();
}

void put_estimate(Json& summary, const std::string& key, const numerics::MeanEstimate& estimate) {
  put(summary, key, estimate.mean);
  put(summary, key + "_error", estimate.error);
}

Json extrapolate(const Json& at, const std::vector<Json>& groups) {
  Json line = at;
  line["degrees_of_freedom"] = static_cast<std::int64_t>(groups.size()) - 2;
  for (const auto& [key, value] : groups.front().items()) {
    if (!groups.front().contains(key + "_error") || key.ends_with("_controlled")) continue;
    const auto everywhere = [&](const std::string& name) {
      return std::all_of(groups.begin(), groups.end(), [&](const Json& g) {
        return g.contains(name) && g.value(name + "_error", 0.0) > 0;
      });
    };
    const std::string source = everywhere(key + "_controlled") ? key + "_controlled" : key;
    if (!everywhere(source)) continue;
    const auto count = static_cast<Eigen::Index>(groups.size());
    VectorXd x(count), y(count), error(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      const Json& row = groups[static_cast<std::size_t>(i)];
      x[i] = 1.0 / row.at("d").get<double>();
      y[i] = row.at(source);
      error[i] = row.at(source + "_error");
    }
    const numerics::LineFit fit = numerics::fit_line(x, y, error);
    put(line, key, fit.intercept);
    put(line, key + "_error", fit.intercept_error);
    put(line, key + "_slope", fit.slope);
    put(line, key + "_slope_error", fit.slope_error);
    if (fit.degrees_of_freedom > 0) put(line, key + "_chi_square", fit.chi_square);
  }
  return line;
}

}  // namespace

Json summarize_simulation(const std::vector<Json>& records, const std::vector<VectorXd>& controls,
                          const std::vector<Json>& controlled) {
  Json groups = Json::array();
  for (auto& [at, rows] : group(records, kGroupKeys)) {
    Json summary = at;
    std::vector<std::size_t> good;
    std::int64_t converged = 0;
    for (const std::size_t i : rows) {
      if (records[i].at("status") != "non_finite") good.push_back(i);
      converged += records[i].at("status") == "converged";
    }
    const auto count = static_cast<Eigen::Index>(good.size());
    summary["count"] = count;
    summary["converged"] = converged;
    if (count == 0) {
      groups.push_back(summary);
      continue;
    }
    auto column = [&](const std::vector<Json>& source, const std::string& key) {
      VectorXd values(count);
      for (Eigen::Index i = 0; i < count; ++i) {
        const Json& row = source[good[static_cast<std::size_t>(i)]];
        if (!row.contains(key)) return VectorXd();
        values[i] = row.at(key);
      }
      return values;
    };
    MatrixXd variates(count, controls[good[0]].size());
    for (Eigen::Index i = 0; i < count; ++i) variates.row(i) = controls[good[static_cast<std::size_t>(i)]];
    for (const auto& [key, value] : records[good[0]].items()) {
      if (!averaged(key, value)) continue;
      const VectorXd values = column(records, key);
      if (values.size() == 0) continue;
      put_estimate(summary, key, numerics::mean_estimate(values));
      const VectorXd quieter = column(controlled, key);
      if (quieter.size() == 0 || variates.cols() == 0) continue;
      if (const auto estimate = numerics::controlled_mean(quieter, variates))
        put_estimate(summary, key + "_controlled", *estimate);
    }
    groups.push_back(summary);
  }

  Json extrapolation = Json::array();
  const std::vector<Json> rows(groups.begin(), groups.end());
  for (const auto& [at, members] : group(rows, {"alpha", "omega", "init", "optimizer"})) {
    std::vector<Json> sizes;
    for (const std::size_t i : members)
      if (rows[i].at("count") > 0) sizes.push_back(rows[i]);
    if (sizes.size() >= 2) extrapolation.push_back(extrapolate(at, sizes));
  }
  Json summary = Json::object();
  summary["groups"] = groups;
  if (!extrapolation.empty()) summary["extrapolation"] = extrapolation;
  return summary;
}

}  // namespace qksolve::results
