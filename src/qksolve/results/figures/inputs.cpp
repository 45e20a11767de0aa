#include "qksolve/results/figures/inputs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "qksolve/results/fields.hpp"

namespace qksolve::results {

namespace {

const Json kNone = Json::array();

std::size_t position(std::vector<std::string>& words, const std::string& word) {
  const auto found = std::find(words.begin(), words.end(), word);
  const auto index = static_cast<std::size_t>(found - words.begin());
  if (found == words.end()) words.push_back(word);
  return index;
}

}  // namespace

std::string Input::kind() const {
  std::string schema = result.at("schema");
  const std::string prefix = "qksolve.", version = "/1";
  if (!schema.starts_with(prefix) || !schema.ends_with(version)) return schema;
  return schema.substr(prefix.size(), schema.size() - prefix.size() - version.size());
}

const Json& records_of(const Input& input) { return input.result.at("records"); }

const Json& summary_rows(const Input& input, const std::string& key) {
  const Json& summary = input.result.at("summary");
  if (!summary.contains(key)) return kNone;
  if (!summary.at(key).is_array()) throw FieldError(summary, key, "a list");
  return summary.at(key);
}

std::optional<Estimate> estimate(const Json& row, const std::string& quantity) {
  const std::string key = row.contains(quantity + "_controlled") ? quantity + "_controlled" : quantity;
  if (!row.contains(key)) return {};
  const std::string error = key + "_error";
  return Estimate{number_field(row, key), row.contains(error) ? number_field(row, error) : 0.0};
}

bool converged(const Json& row) { return word_field(row, "status", "converged") == "converged"; }

std::string label_number(double value) {
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 4);
  return {buffer, end};
}

std::string label_value(const std::string& symbol, double value) {
  return symbol + " = " + label_number(value);
}

std::string joined(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels)
    if (!label.empty()) text += (text.empty() ? "" : ", ") + label;
  return text;
}

std::string file_label(const std::vector<Input>& inputs, const Input& input) {
  const auto same = std::count_if(inputs.begin(), inputs.end(),
                                  [&](const Input& other) { return other.kind() == input.kind(); });
  return same > 1 ? std::filesystem::path(input.path).stem().string() : "";
}

void Curves::add(const std::string& name, const std::string& variant, const Json& row) {
  if (!row.contains(x_)) return;
  position(names_, name);
  position(variants_, variant);
  auto curve = std::find_if(curves_.begin(), curves_.end(),
                            [&](const Curve& c) { return c.name == name && c.variant == variant; });
  if (curve == curves_.end()) curve = curves_.insert(curves_.end(), {name, variant, {}});
  const double x = number_field(row, x_);
  const auto after = std::find_if(curve->rows.begin(), curve->rows.end(),
                                  [&](const Json* other) { return number_field(*other, x_) > x; });
  curve->rows.insert(after, &row);
}

std::size_t Curves::variant(const Curve& curve) const {
  return static_cast<std::size_t>(std::find(variants_.begin(), variants_.end(), curve.variant) -
                                  variants_.begin());
}

double Curves::largest(const std::string& quantity) const {
  double size = 0;
  for (const Curve& curve : curves_)
    for (const Json* row : curve.rows)
      if (const auto e = estimate(*row, quantity)) size = std::max(size, std::abs(e->value));
  return size;
}

Series block(const Curve& curve, const std::string& x, const std::string& quantity,
             const std::function<bool(const Json&)>& keep) {
  Series series{joined({curve.name, curve.variant}), {x, quantity, quantity + "_error"}, {}, {}};
  for (const Json* row : curve.rows) {
    const auto e = keep(*row) ? estimate(*row, quantity) : std::nullopt;
    if (e)
      series.rows.push_back({number_field(*row, x), e->value, e->error});
    else if (!series.rows.empty() && !series.rows.back().empty())
      series.rows.emplace_back();
  }
  while (!series.rows.empty() && series.rows.back().empty()) series.rows.pop_back();
  return series;
}

std::string in_colour(const std::string& colour) { return " linecolor rgb \"" + colour + "\""; }

std::string dashes(std::size_t i) { return " dashtype " + std::to_string(i % 5 + 1); }

std::string marker(std::size_t i) {
  static const std::array<int, 5> open{6, 4, 8, 12, 10};
  return " pointtype " + std::to_string(open[i % open.size()]);
}

}  // namespace qksolve::results
