#include "qksolve/results/compare.hpp"

#include <algorithm>
#include <cmath>

namespace qksolve::results {

namespace {

struct Value {
  double value;
  std::optional<double> error;
};

struct Point {
  double alpha, omega;
  std::string branch;
  std::vector<std::pair<std::string, Value>> quantities;
};

const std::vector<std::string> kQuantities{"train_loss", "gen_error", "gen_error_linear", "q", "m",
                                           "theta",      "V"};

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw ContentError(file + ": " + what);
}

const Json& member(const std::string& file, const Json& object, const std::string& key,
                   const std::string& expected, bool (Json::*is)() const noexcept) {
  if (!object.is_object() || !object.contains(key) || !(object.at(key).*is)())
    refuse(file, "key '" + key + "' is missing or of another kind, expected " + expected);
  return object.at(key);
}

double number(const std::string& file, const Json& row, const std::string& key) {
  return member(file, row, key, "a number", &Json::is_number).get<double>();
}

std::string text(const std::string& file, const Json& row, const std::string& key) {
  return member(file, row, key, "a word", &Json::is_string).get<std::string>();
}

Point make_point(const std::string& file, const Json& row, const std::string& branch_key, bool simulation) {
  Point point{number(file, row, "alpha"), number(file, row, "omega"), text(file, row, branch_key), {}};
  for (const std::string& quantity : kQuantities) {
    const std::string key = row.contains(quantity + "_controlled") ? quantity + "_controlled" : quantity;
    if (!row.contains(key)) continue;
    Value value{number(file, row, key), {}};
    if (row.contains(key + "_error")) value.error = number(file, row, key + "_error");
    // The one quantity that theory gives without an error is exact.
    if (!value.error && !simulation && quantity == "gen_error_linear") value.error = 0.0;
    point.quantities.emplace_back(quantity, value);
  }
  return point;
}

std::vector<Point> theory_points(const std::string& file, const Json& result) {
  std::vector<Point> points;
  for (const Json& record : member(file, result, "records", "a list", &Json::is_array))
    if (text(file, record, "status") == "converged")
      points.push_back(make_point(file, record, "branch", false));
  return points;
}

std::vector<Point> simulation_points(const std::string& file, const Json& result) {
  const Json& summary = member(file, result, "summary", "an object", &Json::is_object);
  const std::string part = summary.contains("extrapolation") ? "extrapolation" : "groups";
  std::vector<Point> points;
  for (const Json& row : member(file, summary, part, "a list", &Json::is_array))
    points.push_back(make_point(file, row, "init", true));
  return points;
}

std::vector<Point> points_of(const std::string& file, const Json& result) {
  const std::string schema = text(file, result, "schema");
  if (schema == "qksolve.phase.solve/1") return theory_points(file, result);
  if (schema == "qksolve.phase.simulate/1") return simulation_points(file, result);
  refuse(file,
         "key 'schema' is '" + schema + "', expected qksolve.phase.solve/1 or qksolve.phase.simulate/1");
}

void require_same_model(const Json& a, const std::string& name_a, const Json& b, const std::string& name_b) {
  const Json& of_a = member(name_a, a, "parameters", "an object", &Json::is_object);
  const Json& of_b = member(name_b, b, "parameters", "an object", &Json::is_object);
  // What a result does not say is what all results had before it could be chosen.
  const Json usual = {{"tokens", 2}, {"rank", 1}, {"teacher_rank", 1}, {"positional_matrix", {1.0, -1.0}}};
  for (const std::string key :
       {"sigma", "lambda", "teacher_matrix", "tokens", "rank", "teacher_rank", "positional_matrix"}) {
    auto value = [&](const Json& parameters, const std::string& name) {
      if (parameters.contains(key)) return parameters.at(key);
      if (!usual.contains(key)) refuse(name, "key 'parameters." + key + "' is missing");
      return usual.at(key);
    };
    const Json first = value(of_a, name_a), second = value(of_b, name_b);
    if (first != second)
      refuse(name_b, key + " is " + second.dump() + ", expected " + first.dump() + " as in " + name_a);
  }
}

bool same_place(const Point& a, const Point& b) {
  auto close = [](double x, double y) {
    return std::abs(x - y) <= 1e-12 * std::max(std::abs(x), std::abs(y));
  };
  return a.branch == b.branch && close(a.alpha, b.alpha) && close(a.omega, b.omega);
}

}  // namespace

Comparison compare_results(const Json& a, const std::string& name_a, const Json& b, const std::string& name_b,
                           double limit) {
  const std::vector<Point> points_a = points_of(name_a, a), points_b = points_of(name_b, b);
  require_same_model(a, name_a, b, name_b);
  Comparison comparison;
  double chi_square = 0, largest = 0;
  std::int64_t count = 0, outside = 0, matched = 0;
  for (const Point& at : points_a) {
    const auto partner =
        std::find_if(points_b.begin(), points_b.end(), [&](const Point& p) { return same_place(at, p); });
    if (partner == points_b.end()) continue;
    ++matched;
    for (const auto& [quantity, left] : at.quantities) {
      const auto other =
          std::find_if(partner->quantities.begin(), partner->quantities.end(),
                       [&, name = quantity](const auto& entry) { return entry.first == name; });
      if (other == partner->quantities.end()) continue;
      const Value& right = other->second;
      Json record;
      record["alpha"] = at.alpha;
      record["omega"] = at.omega;
      record["branch"] = at.branch;
      record["quantity"] = quantity;
      put(record, "a", left.value);
      put(record, "a_error", left.error);
      put(record, "b", right.value);
      put(record, "b_error", right.error);
      const double difference = right.value - left.value;
      put(record, "difference", difference);
      if (left.error && right.error) {
        const double combined = std::hypot(*left.error, *right.error);
        const double in_errors = difference == 0 ? 0.0 : difference / combined;
        put(record, "sigmas", in_errors);  // absent where exact values differ
        if (std::isfinite(in_errors)) {
          chi_square += in_errors * in_errors;
          largest = std::max(largest, std::abs(in_errors));
          ++count;
        }
        outside += !(std::abs(in_errors) <= limit);
      }
      comparison.records.push_back(record);
    }
  }
  if (comparison.records.empty())
    refuse(name_b,
           "no point (alpha, omega, branch) with a common quantity, expected one of those of " + name_a);
  comparison.all_within = outside == 0;
  comparison.summary["chi_square"] = chi_square;
  comparison.summary["count"] = count;
  comparison.summary["largest_sigmas"] = largest;
  comparison.summary["outside"] = outside;
  comparison.summary["only_in_a"] = static_cast<std::int64_t>(points_a.size()) - matched;
  comparison.summary["only_in_b"] = static_cast<std::int64_t>(points_b.size()) - matched;
  return comparison;
}

}  // namespace qksolve::results
