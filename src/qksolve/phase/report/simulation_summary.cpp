#include "qksolve/phase/report/simulation_summary.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "qksolve/numerics/statistics.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::results {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

const std::vector<std::string> kGroupKeys{"alpha", "omega", "d", "init", "optimizer"};
const std::vector<std::string> kPathKeys{"alpha", "omega", "d", "init", "optimizer", "iteration"};
const std::vector<std::string> kNotAveraged{"gradient_norm", "gen_error_error", "V_error",  "instance",
                                            "seed",          "iterations",      "switching"};

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
  line.erase("d");
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
    const auto count = static_cast<Index>(groups.size());
    VectorXd x(count), y(count), error(count);
    for (Index i = 0; i < count; ++i) {
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

// Mean and error of `values`, the rows `used` of `controls` being their control variates: with them where
// that is possible, and raw.
struct Averages {
  numerics::MeanEstimate raw;
  std::optional<numerics::MeanEstimate> controlled;
  const numerics::MeanEstimate& best() const { return controlled ? *controlled : raw; }
};

Averages average(const VectorXd& values, const MatrixXd& controls) {
  Averages averages{numerics::mean_estimate(values), {}};
  if (controls.cols() > 0) averages.controlled = numerics::controlled_mean(values, controls);
  return averages;
}

void put_averages(Json& summary, const std::string& key, const Averages& averages) {
  put_estimate(summary, key, averages.raw);
  if (averages.controlled) put_estimate(summary, key + "_controlled", *averages.controlled);
}

MatrixXd rows_of(const std::vector<VectorXd>& controls, const std::vector<std::size_t>& used) {
  MatrixXd matrix(used.size(), used.empty() ? 0 : controls[used.front()].size());
  for (std::size_t i = 0; i < used.size(); ++i) matrix.row(static_cast<Index>(i)) = controls[used[i]];
  return matrix;
}

std::pair<std::int64_t, std::int64_t> instance_of(const Json& record) {
  return {record.at("seed"), record.at("instance")};
}

// train_loss_limit of the positional minimiser less that of the semantic one, instance by instance, at one
// place.
struct Differences {
  Json at;  // omega, d, optimizer
  double alpha;
  std::vector<std::pair<std::int64_t, std::int64_t>> instances;  // with their seeds
  VectorXd values;
  MatrixXd controls;
};

std::vector<Differences> pair_differences(const std::vector<Json>& records,
                                          const std::vector<VectorXd>& controls) {
  std::vector<Differences> places;
  for (const auto& [at, rows] : group(records, {"alpha", "omega", "d", "optimizer"})) {
    Differences here{coordinates(at, {"omega", "d", "optimizer"}), at.at("alpha"), {}, {}, {}};
    std::vector<double> values;
    std::vector<std::size_t> used;
    for (const std::size_t i : rows)
      for (const std::size_t k : rows)
        if (instance_of(records[i]) == instance_of(records[k]) && records[i].at("init") == "semantic" &&
            records[k].at("init") == "positional" && is_averaged(records[i]) && is_averaged(records[k])) {
          here.instances.push_back(instance_of(records[i]));
          values.push_back(records[k].at("train_loss_limit").get<double>() -
                           records[i].at("train_loss_limit").get<double>());
          used.push_back(i);
        }
    if (values.empty()) continue;
    here.values = Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
    here.controls = rows_of(controls, used);
    places.push_back(std::move(here));
  }
  return places;
}

// Where the line through two neighbouring differences crosses zero. Instances share their samples between the
// two places: the error is that of the interpolated difference, instance by instance, over the slope.
std::optional<Json> crossing(const Differences& low, const Differences& high) {
  const double at_low = average(low.values, low.controls).best().mean,
               at_high = average(high.values, high.controls).best().mean;
  if (low.instances != high.instances || (at_low < 0) == (at_high < 0)) return std::nullopt;
  const double share = at_low / (at_low - at_high);
  const auto between = average((1 - share) * low.values + share * high.values,
                               (1 - share) * low.controls + share * high.controls)
                           .best();
  Json row = low.at;
  const double width = high.alpha - low.alpha;
  row["count"] = low.values.size();
  put(row, "alpha_crossing", low.alpha + share * width);
  if (between.error) put(row, "alpha_crossing_error", *between.error * width / std::abs(at_high - at_low));
  put(row, "alpha_low", low.alpha);
  put(row, "alpha_high", high.alpha);
  return row;
}

// With, at the end, one row without d per place that has rows of several d: their extrapolation.
Json with_extrapolation(const std::vector<Json>& rows, const std::vector<std::string>& keys) {
  Json all = rows;
  for (const auto& [at, members] : group(rows, keys)) {
    std::vector<Json> sizes;
    for (const std::size_t i : members) sizes.push_back(rows[i]);
    const bool once = group(sizes, {"d"}).size() == sizes.size();
    if (once && sizes.size() >= 2) all.push_back(extrapolate(at, sizes));
  }
  return all;
}

void put_pairs(Json& summary, const std::vector<Json>& records, const std::vector<VectorXd>& controls) {
  const std::vector<Differences> places = pair_differences(records, controls);
  if (places.empty()) return;
  std::vector<Json> differences, crossings;
  for (const Differences& place : places) {
    Json row = place.at;
    row["alpha"] = place.alpha;
    row["count"] = place.values.size();
    put_averages(row, "train_loss_difference", average(place.values, place.controls));
    differences.push_back(row);
    const Differences* next = nullptr;
    for (const Differences& other : places)
      if (other.at == place.at && other.alpha > place.alpha && (!next || other.alpha < next->alpha))
        next = &other;
    if (next)
      if (const auto found = crossing(place, *next)) crossings.push_back(*found);
  }
  summary["differences"] = with_extrapolation(differences, {"alpha", "omega", "optimizer"});
  if (!crossings.empty()) summary["crossings"] = with_extrapolation(crossings, {"omega", "optimizer"});
}

}  // namespace

bool is_averaged(const Json& record) {
  return record.at("status") != "non_finite" && record.at("status") != "branch_changed";
}

Json summarize_simulation(const std::vector<Json>& records, const std::vector<VectorXd>& controls,
                          const std::vector<Json>& controlled) {
  Json groups = Json::array();
  for (auto& [at, rows] : group(records, kGroupKeys)) {
    Json summary = at;
    std::vector<std::size_t> good;
    std::int64_t converged = 0, changed = 0;
    for (const std::size_t i : rows) {
      if (is_averaged(records[i])) good.push_back(i);
      converged += records[i].at("status") == "converged";
      changed += records[i].at("status") == "branch_changed";
    }
    const auto count = static_cast<Index>(good.size());
    summary["count"] = count;
    summary["converged"] = converged;
    if (changed > 0) summary["branch_changed"] = changed;
    if (count == 0) {
      groups.push_back(summary);
      continue;
    }
    auto column = [&](const std::vector<Json>& source, const std::string& key) {
      VectorXd values(count);
      for (Index i = 0; i < count; ++i) {
        const Json& row = source[good[static_cast<std::size_t>(i)]];
        if (!row.contains(key)) return VectorXd();
        values[i] = row.at(key);
      }
      return values;
    };
    const MatrixXd variates = rows_of(controls, good);
    for (const auto& [key, value] : records[good[0]].items()) {
      if (!averaged(key, value)) continue;
      const VectorXd values = column(records, key);
      if (values.size() == 0) continue;
      put_estimate(summary, key, numerics::mean_estimate(values));
      const VectorXd quieter = column(controlled, key);
      if (quieter.size() == 0) continue;
      if (const auto estimate = average(quieter, variates).controlled)
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
  put_pairs(summary, records, controls);
  return summary;
}

Json summarize_paths(const std::vector<Json>& trace,
                     const std::vector<std::pair<Json, std::vector<Json>>>& paths) {
  Json rows = Json::array();
  for (const auto& [at, members] : group(trace, kPathKeys)) {
    Json row = at;
    const Json place = coordinates(at, {"alpha", "omega", "d", "init"});
    const auto path =
        std::find_if(paths.begin(), paths.end(), [&](const auto& p) { return p.first == place; });
    const auto iteration = at.at("iteration").get<std::size_t>();
    row["count"] = members.size();
    for (const char* key : {"q", "m", "theta", "V", "mse"}) {
      if (!trace[members.front()].contains(key)) continue;
      VectorXd values(static_cast<Index>(members.size()));
      for (std::size_t i = 0; i < members.size(); ++i)
        values[static_cast<Index>(i)] = trace[members[i]].at(key);
      put_estimate(row, key, numerics::mean_estimate(values));
      if (path == paths.end() || iteration >= path->second.size()) continue;
      const Json& predicted = path->second[iteration];
      put(row, std::string(key) + "_predicted", predicted.at(key).get<double>());
      put(row, std::string(key) + "_predicted_error", predicted.value(std::string(key) + "_error", 0.0));
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace qksolve::results
