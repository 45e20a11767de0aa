#include "qksolve/results/compare.hpp"

#include <algorithm>
#include <cmath>

#include "qksolve/results/same_model.hpp"

namespace qksolve::results {

namespace {

constexpr double kLargest = 1e100;
constexpr int kMostEigenvalues = 32;  // the largest rank

struct Value {
  std::optional<double> value, error;
};

struct Point {
  Json at;  // the coordinates
  std::vector<std::pair<std::string, Value>> quantities;
};

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw ContentError(file + ": " + what);
}

double number(const std::string& file, const Json& row, const std::string& key) {
  const double value = member(file, row, key, "a number", &Json::is_number).get<double>();
  if (!(std::abs(value) <= kLargest))
    refuse(file, "key '" + key + "' is " + row.at(key).dump() + ", expected at most 1e100");
  return value;
}

std::string text(const std::string& file, const Json& row, const std::string& key) {
  return member(file, row, key, "a word", &Json::is_string).get<std::string>();
}

// One way to read points out of a result.
struct View {
  std::string schema;
  std::vector<std::string> part;                                 // keys that lead to the list of rows
  std::vector<std::pair<std::string, std::string>> coordinates;  // name in the comparison, key in a row
  std::vector<std::pair<std::string, std::string>> quantities;   // likewise
  void (*require_same_model)(const Json& a, const std::string& name_a, const Json& b,
                             const std::string& name_b);
  std::string exact;  // a quantity known exactly without `_error`
  std::vector<std::pair<std::string, std::string>> constants = {};  // coordinates that all rows share
};

std::vector<std::pair<std::string, std::string>> same_names(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> pairs(names.size());
  std::transform(names.begin(), names.end(), pairs.begin(),
                 [](const std::string& name) { return std::pair(name, name); });
  return pairs;
}

// Scalars, and what stands for them at higher ranks (phase/report/phase_record.hpp).
std::vector<std::pair<std::string, std::string>> phase_quantities() {
  std::vector<std::string> names{"train_loss", "gen_error", "gen_error_linear", "q",          "m",
                                 "theta",      "V",         "mu_norm",          "theta_norm", "mse"};
  for (int k = 1; k <= kMostEigenvalues; ++k)
    for (const char* of : {"q_", "V_"}) names.push_back(of + std::to_string(k));
  return same_names(names);
}

const std::vector<View>& views() {
  static const std::vector<View> all = [] {
    const auto phase = phase_quantities();
    const auto flow = same_names({"u", "beta", "p", "margin", "loss"});
    std::vector<View> list;
    for (const char* name : {"qksolve.phase.solve/1", "qksolve.phase.sweep/1"})
      list.push_back({name,
                      {"records"},
                      same_names({"alpha", "omega", "branch"}),
                      phase,
                      require_same_phase_model,
                      "gen_error_linear"});
    list.push_back({"qksolve.phase.simulate/1",
                    {"summary", "groups"},
                    {{"alpha", "alpha"}, {"omega", "omega"}, {"branch", "init"}},
                    phase,
                    require_same_phase_model,
                    ""});
    list.push_back({"qksolve.phase.critical/1",
                    {"records"},
                    same_names({"omega", "which"}),
                    same_names({"value"}),
                    require_same_phase_model,
                    ""});
    list.push_back({"qksolve.phase.simulate/1",
                    {"summary", "crossings"},
                    same_names({"omega"}),
                    {{"value", "alpha_crossing"}},
                    require_same_phase_model,
                    "",
                    {{"which", "alpha_c"}}});
    for (const char* name : {"qksolve.flow.solve/1", "qksolve.flow.simulate/1"})
      list.push_back({name,
                      {"records"},
                      same_names({"parameterization", "ratio", "t"}),
                      flow,
                      require_same_flow_model,
                      ""});
    return list;
  }();
  return all;
}

std::vector<std::string> coordinate_names(const View& view) {
  std::vector<std::string> names;
  for (const auto& [name, key] : view.coordinates) names.push_back(name);
  for (const auto& [name, value] : view.constants) names.push_back(name);
  return names;
}

// The list a view reads; null if the result does not have it.
const Json* rows_of(const View& view, const Json& result) {
  const Json* at = &result;
  for (const std::string& key : view.part) {
    if (!at->is_object()) return nullptr;
    // Averages at several d are compared through their extrapolation.
    const std::string best = key == "groups" && at->contains("extrapolation") ? "extrapolation" : key;
    if (!at->contains(best)) return nullptr;
    at = &at->at(best);
  }
  return at;
}

// The views of a result whose list is there; the first one, if none is.
std::vector<const View*> views_of(const std::string& file, const Json& result) {
  const std::string schema = text(file, result, "schema");
  std::vector<const View*> all, present;
  for (const View& view : views()) {
    if (view.schema != schema) continue;
    all.push_back(&view);
    if (rows_of(view, result) != nullptr) present.push_back(&view);
  }
  if (all.empty())
    refuse(file, "key 'schema' is '" + schema + "', expected a result of phase solve, sweep, critical or " +
                     "simulate, or of flow solve or simulate");
  if (present.empty()) refuse(file, "key '" + all.front()->part.back() + "' is missing, expected a list");
  return present;
}

Value value_of(const std::string& file, const Json& row, const std::string& name, const View& view) {
  // At one d the form of the limit is closer to theory and to other d; with control variates there is less
  // noise.
  std::string key = row.contains("d") && row.contains(name + "_limit") ? name + "_limit" : name;
  if (row.contains(key + "_controlled")) key += "_controlled";
  if (!row.contains(key)) return {};
  Value value{number(file, row, key), {}};
  if (row.contains(key + "_error")) {
    value.error = number(file, row, key + "_error");
    if (*value.error < 0)
      refuse(file, "key '" + key + "_error' is " + row.at(key + "_error").dump() + ", expected at least 0");
  } else if (name == view.exact) {
    value.error = 0.0;
  }
  return value;
}

bool is_word(const std::string& coordinate) {
  return coordinate == "branch" || coordinate == "which" || coordinate == "parameterization";
}

// The Bayes-optimal limit, and message passing that begins with knowledge, stand where the others have a
// branch.
bool is_bayes(const Json& row) {
  return row.is_object() &&
         (row.contains("learner") || (row.contains("init") && row.at("init") == "informed"));
}

std::vector<Point> points_of(const std::string& file, const Json& result, const View& view) {
  const Json& rows = *rows_of(view, result);
  if (!rows.is_array()) refuse(file, "key '" + view.part.back() + "' is of another kind, expected a list");
  // Where some rows of a list are extrapolations to 1/d = 0, those without d, the others are not compared.
  const bool extrapolated = std::any_of(rows.begin(), rows.end(), [&](const Json& row) {
    return view.part.front() == "summary" && row.is_object() && !row.contains("d");
  });
  std::vector<Point> points;
  std::size_t count = 0;
  for (const Json& row : rows) {
    const std::string place = file + ": " + view.part.back() + ", row " + std::to_string(++count);
    if (extrapolated && row.contains("d")) continue;
    if (view.part.front() == "records" && text(place, row, "status") != "converged") continue;
    Point point;
    for (const auto& [name, key] : view.coordinates) {
      if (name == "branch" && is_bayes(row))
        point.at[name] = "bayes";
      else if (is_word(name))
        point.at[name] = text(place, row, key);
      else
        point.at[name] = number(place, row, key);
    }
    for (const auto& [name, value] : view.constants) point.at[name] = value;
    for (const auto& [name, key] : view.quantities) {
      const Value value = value_of(place, row, key, view);
      if (value.value) point.quantities.emplace_back(name, value);
    }
    points.push_back(point);
  }
  return points;
}

bool same_place(const Json& a, const Json& b) {
  return std::all_of(a.items().begin(), a.items().end(), [&](const auto& entry) {
    const Json &x = entry.value(), &y = b.at(entry.key());
    if (!x.is_number() || !y.is_number()) return x == y;
    const double first = x, second = y;
    return std::abs(first - second) <= 1e-12 * std::max(std::abs(first), std::abs(second));
  });
}

}  // namespace

Comparison compare_results(const Json& a, const std::string& name_a, const Json& b, const std::string& name_b,
                           double limit) {
  const View *view_a = nullptr, *view_b = nullptr;
  for (const View* of_a : views_of(name_a, a))
    for (const View* of_b : views_of(name_b, b))
      if (view_a == nullptr && coordinate_names(*of_a) == coordinate_names(*of_b)) {
        view_a = of_a;
        view_b = of_b;
      }
  if (view_a == nullptr)
    refuse(name_b, "key 'schema' is " + b.at("schema").dump() + ", which has nothing in common with " +
                       a.at("schema").dump() + " of " + name_a);
  view_a->require_same_model(a, name_a, b, name_b);
  const std::vector<Point> points_a = points_of(name_a, a, *view_a), points_b = points_of(name_b, b, *view_b);

  Comparison comparison;
  comparison.coordinates = coordinate_names(*view_a);
  double chi_square = 0, largest = 0;
  std::int64_t count = 0, outside = 0, matched = 0;
  for (const Point& at : points_a) {
    const auto partner = std::find_if(points_b.begin(), points_b.end(),
                                      [&](const Point& p) { return same_place(at.at, p.at); });
    if (partner == points_b.end()) continue;
    ++matched;
    for (const auto& [quantity, left] : at.quantities) {
      const auto other =
          std::find_if(partner->quantities.begin(), partner->quantities.end(),
                       [&, name = quantity](const auto& entry) { return entry.first == name; });
      if (other == partner->quantities.end()) continue;
      const Value& right = other->second;
      Json record = at.at;
      record["quantity"] = quantity;
      put(record, "a", left.value);
      put(record, "a_error", left.error);
      put(record, "b", right.value);
      put(record, "b_error", right.error);
      const double difference = *right.value - *left.value;
      put(record, "difference", difference);
      if (left.error && right.error) {
        const double combined = std::hypot(*left.error, *right.error);
        const double in_errors = difference == 0 ? 0.0 : difference / combined;
        const bool countable = std::abs(in_errors) <= kLargest;  // not where exact values differ
        if (countable) {
          put(record, "sigmas", in_errors);
          chi_square += in_errors * in_errors;
          largest = std::max(largest, std::abs(in_errors));
          ++count;
        }
        outside += !(std::abs(in_errors) <= limit);
      }
      comparison.records.push_back(record);
    }
  }
  if (comparison.records.empty()) {
    std::string where;
    for (const std::string& name : comparison.coordinates) where += (where.empty() ? "" : ", ") + name;
    refuse(name_b, "no point (" + where + ") with a common quantity, expected one of those of " + name_a);
  }
  comparison.all_within = outside == 0 && count > 0;
  comparison.summary["chi_square"] = chi_square;
  comparison.summary["count"] = count;
  comparison.summary["largest_sigmas"] = largest;
  comparison.summary["outside"] = outside;
  comparison.summary["only_in_a"] = static_cast<std::int64_t>(points_a.size()) - matched;
  comparison.summary["only_in_b"] = static_cast<std::int64_t>(points_b.size()) - matched;
  return comparison;
}

}  // namespace qksolve::results
