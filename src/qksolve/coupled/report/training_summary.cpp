#include "qksolve/coupled/report/training_summary.hpp"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "qksolve/numerics/statistics.hpp"

namespace qksolve::results {

namespace {

constexpr double kTail = 0.025;  // on either side of a 95 % interval

struct Group {
  Json variant, coupling_steps;                 // the latter null where nothing evolves
  std::map<Json, const TrainedModel*> by_seed;  // those that converged
  std::size_t runs = 0;
};

Json value_of(const Json& record, const char* key) { return record.contains(key) ? record.at(key) : Json(); }

Eigen::VectorXd vector(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

// Over the seeds where it is known.
std::vector<double> values(const Group& group, const std::string& key) {
  std::vector<double> found;
  for (const auto& [seed, run] : group.by_seed)
    if (run->record.contains(key)) found.push_back(run->record.at(key));
  return found;
}

double standard_deviation(const std::vector<double>& v) {
  return *numerics::mean_estimate(vector(v)).error * std::sqrt(static_cast<double>(v.size()));
}

void put_mean(Json& row, const std::string& key, const std::vector<double>& v, bool spread) {
  if (v.empty()) return;
  const numerics::MeanEstimate mean = numerics::mean_estimate(vector(v));
  put(row, key, mean.mean);
  put(row, key + "_error", mean.error);
  if (spread && v.size() > 1) put(row, key + "_spread", standard_deviation(v));
}

void put_solved(Json& row, const Group& group) {
  std::vector<double> steps;
  std::size_t solved = 0;
  for (const auto& [seed, run] : group.by_seed) {
    const bool is_solved = run->record.contains("steps_to_solve");
    solved += is_solved ? 1 : 0;
    steps.push_back(is_solved ? run->record.at("steps_to_solve").get<double>()
                              : std::numeric_limits<double>::infinity());
  }
  row["solved"] = solved;
  if (steps.empty()) return;
  const double n = static_cast<double>(steps.size()), k = static_cast<double>(solved);
  row["solve_rate"] = k / n;
  row["solve_rate_low"] = k == 0 ? 0.0 : quantile(boost::math::beta_distribution<>(k, n - k + 1), kTail);
  row["solve_rate_high"] = k == n ? 1.0 : quantile(boost::math::beta_distribution<>(k + 1, n - k), 1 - kTail);
  std::sort(steps.begin(), steps.end());
  const std::size_t half = steps.size() / 2;
  put(row, "median_steps_to_solve",
      steps.size() % 2 == 1 ? steps[half] : (steps[half - 1] + steps[half]) / 2);
}

// Share of its tokens after which a run's loss is as low as `target`.
std::optional<double> share_to_reach(const std::vector<Json>& curve, double target) {
  const double all = curve.back().at("tokens");
  double before_loss = 0, before_tokens = 0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double loss = curve[i].at("loss"), tokens = curve[i].at("tokens");
    if (loss <= target) {
      if (i == 0 || before_loss == loss) return tokens / all;
      return (before_tokens + (before_loss - target) / (before_loss - loss) * (tokens - before_tokens)) / all;
    }
    before_loss = loss;
    before_tokens = tokens;
  }
  return std::nullopt;
}

using Interval = numerics::MeanInterval;

Interval student_interval(const std::vector<double>& v) { return numerics::student_interval(vector(v)); }

void put_interval(Json& row, const std::string& key, const Interval& interval) {
  put(row, key, interval.mean);
  put(row, key + "_low", interval.low);
  put(row, key + "_high", interval.high);
}

std::vector<double> paired_differences(const Group& group, const Group& reference, const char* key) {
  std::vector<double> found;
  for (const auto& [seed, run] : group.by_seed) {
    const auto other = reference.by_seed.find(seed);
    if (other != reference.by_seed.end() && run->record.contains(key) && other->second->record.contains(key))
      found.push_back(run->record.at(key).get<double>() - other->second->record.at(key).get<double>());
  }
  return found;
}

void put_differences(Json& row, const Group& group, const Group& reference) {
  const std::string to = "_to_" + reference.variant.get<std::string>();
  const std::vector<double> losses = paired_differences(group, reference, "loss");
  row["difference" + to + "_pairs"] = losses.size();
  if (losses.size() < 2) return;
  const Interval loss = student_interval(losses);
  put_interval(row, "difference" + to, loss);
  if (const auto hits = paired_differences(group, reference, "accuracy"); hits.size() > 1)
    put_interval(row, "accuracy_difference" + to, student_interval(hits));
  auto percent = [](double difference) { return 100 * std::expm1(difference); };
  if (!values(group, "perplexity").empty())
    put_interval(row, "perplexity_change" + to, {percent(loss.mean), percent(loss.low), percent(loss.high)});
}

void put_variance_ratio(Json& row, const Group& group, const Group& standard) {
  const std::vector<double> here = values(group, "loss"), there = values(standard, "loss");
  if (here.size() < 2 || there.size() < 2) return;
  const double ratio = std::pow(standard_deviation(here) / standard_deviation(there), 2);
  const boost::math::fisher_f_distribution<> law(static_cast<double>(here.size() - 1),
                                                 static_cast<double>(there.size() - 1));
  if (std::isfinite(ratio))
    put_interval(row, "variance_ratio",
                 {ratio, ratio / quantile(law, 1 - kTail), ratio / quantile(law, kTail)});
}

}  // namespace

Json summarize_training(const std::vector<TrainedModel>& runs) {
  std::vector<Group> groups;
  for (const TrainedModel& run : runs) {
    const Json variant = run.record.at("variant"), steps = value_of(run.record, "coupling_steps");
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.variant == variant && g.coupling_steps == steps;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{variant, steps, {}, 0});
    ++group->runs;
    if (run.record.at("status") == "converged") group->by_seed[run.record.at("seed")] = &run;
  }
  auto find = [&](const char* variant, const Json& steps) -> const Group* {
    for (const Group& g : groups)
      if (g.variant == variant && g.coupling_steps == steps && !g.by_seed.empty()) return &g;
    return nullptr;
  };

  Json rows = Json::array();
  for (const Group& group : groups) {
    Json row{{"variant", group.variant}};
    if (!group.coupling_steps.is_null()) row["coupling_steps"] = group.coupling_steps;
    row["runs"] = group.runs;
    row["converged"] = group.by_seed.size();
    const bool any = !group.by_seed.empty();
    const Json* const first = any ? &group.by_seed.begin()->second->record : nullptr;
    const Group* const standard = find("standard", Json());
    const Group* const uncoupled = find("uncoupled", group.coupling_steps);
    if (any) {
      row["parameter_count"] = first->at("parameter_count");
      put_mean(row, "loss", values(group, "loss"), true);
      put_mean(row, "accuracy", values(group, "accuracy"), true);
      put_mean(row, "perplexity", values(group, "perplexity"), true);
      if (first->contains("accuracy")) put_solved(row, group);
      if (first->contains("perplexity") && standard != nullptr) {
        std::vector<double> shares;
        for (const auto& [seed, run] : group.by_seed)
          if (const auto other = standard->by_seed.find(seed); other != standard->by_seed.end())
            if (const auto share = share_to_reach(run->curve, other->second->record.at("loss")))
              shares.push_back(*share);
        row["reached"] = shares.size();
        put_mean(row, "tokens_ratio", shares, false);
      }
      for (int layer = 1; first->contains("entropy_" + std::to_string(layer)); ++layer)
        for (const char* key : {"step_size_", "entropy_", "sigma_ratio_"})
          put_mean(row, key + std::to_string(layer), values(group, key + std::to_string(layer)), false);
      if (standard != nullptr && standard != &group) {
        put_variance_ratio(row, group, *standard);
        put_differences(row, group, *standard);
      }
      if (uncoupled != nullptr && uncoupled != &group) put_differences(row, group, *uncoupled);
    }
    rows.push_back(row);
  }
  return {{"variants", rows}};
}

}  // namespace qksolve::results
