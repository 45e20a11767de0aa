#include "qksolve/flow/report/text_arms.hpp"

#include <algorithm>

namespace qksolve::results {

Arms::Arms(const std::vector<Json>& records) {
  for (const Json& record : records) {
    const Arm arm{record.at("parameterization"), record.at("ratio")};
    if (!records_.contains(arm)) names_.push_back(arm);
    SeedRecords& of_arm = records_[arm];
    if (record.at("status") == "converged") of_arm[record.at("seed").get<std::int64_t>()] = &record;
  }
}

const SeedRecords& Arms::of(const Arm& arm) const {
  static const SeedRecords none;
  const auto found = records_.find(arm);
  return found == records_.end() ? none : found->second;
}

std::vector<double> Arms::ratios(const std::string& parameterization, double low, double high) const {
  std::vector<double> found;
  for (const Arm& arm : names_)
    if (arm.first == parameterization && arm.second >= low && arm.second <= high) found.push_back(arm.second);
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<double> quantity(const SeedRecords& records, std::int64_t seed, const std::string& name) {
  const auto found = records.find(seed);
  if (found == records.end() || !found->second->contains(name)) return std::nullopt;
  return found->second->at(name).get<double>();
}

Eigen::VectorXd over_seeds(const SeedRecords& records, const OfSeed& value) {
  std::vector<double> found;
  for (const auto& [seed, record] : records)
    if (const std::optional<double> x = value(seed)) found.push_back(*x);
  return Eigen::Map<const Eigen::VectorXd>(found.data(), static_cast<Eigen::Index>(found.size()));
}

std::optional<double> slope_of(const Arms& arms, const std::string& parameterization,
                               const std::vector<double>& ratios, std::int64_t seed,
                               const std::string& name) {
  const auto count = static_cast<Eigen::Index>(ratios.size());
  if (count < 2) return std::nullopt;
  Eigen::VectorXd x(count), y(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const double ratio = ratios[static_cast<std::size_t>(i)];
    const auto value = quantity(arms.of({parameterization, ratio}), seed, name);
    if (!value) return std::nullopt;
    x[i] = std::log(ratio);
    y[i] = *value;
  }
  return numerics::fit_line(x, y, Eigen::VectorXd::Ones(count)).slope;
}

void put_interval(Json& row, const std::string& name, const Eigen::VectorXd& values) {
  if (values.size() < 2) return;
  const numerics::MeanInterval interval = numerics::student_interval(values);
  put(row, name, interval.mean);
  put(row, name + "_low", interval.low);
  put(row, name + "_high", interval.high);
}

}  // namespace qksolve::results
