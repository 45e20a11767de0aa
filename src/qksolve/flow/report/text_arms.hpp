// The records of `flow train`, by arm and seed, and comparisons that are paired by seed.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qksolve/numerics/statistics.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::results {

using Arm = std::pair<std::string, double>;  // parameterization, ratio
using SeedRecords = std::map<std::int64_t, const Json*>;

class Arms {
 public:
  // Keeps pointers to the converged of them.
  explicit Arms(const std::vector<Json>& records);

  // All arms, in order of appearance.
  const std::vector<Arm>& names() const { return names_; }
  // Of the seeds that converged; empty for an arm that is not there.
  const SeedRecords& of(const Arm& arm) const;
  // The ratios of a parameterization from `low` to `high`, ascending.
  std::vector<double> ratios(const std::string& parameterization, double low, double high) const;

 private:
  std::vector<Arm> names_;
  std::map<Arm, SeedRecords> records_;
};

// Of one seed; nothing where it is not known.
using OfSeed = std::function<std::optional<double>(std::int64_t seed)>;

std::optional<double> quantity(const SeedRecords& records, std::int64_t seed, const std::string& name);
// value(seed) of the seeds of `records` where it is known.
Eigen::VectorXd over_seeds(const SeedRecords& records, const OfSeed& value);
// Slope of a quantity against ln ratio for one seed; nothing with fewer than two ratios.
std::optional<double> slope_of(const Arms& arms, const std::string& parameterization,
                               const std::vector<double>& ratios, std::int64_t seed, const std::string& name);
// row[name], row[name + "_low"], row[name + "_high"] where there are two values or more.
void put_interval(Json& row, const std::string& name, const Eigen::VectorXd& values);

// The range of ratios in which slopes are fitted.
inline constexpr double kLowestRatio = 0.1, kHighestRatio = 10;

}  // namespace qksolve::results
