// The alpha-omega plane: which minimum is lower, whether attention beats the linear baseline, and the lines
// between.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "qksolve/phase/report/phase_style.hpp"
#include "qksolve/results/fields.hpp"

namespace qksolve::results {

namespace {

// Thresholds with omega, which, value, value_error: the records of phase critical, or what a sweep
// interpolates.
std::vector<const Json*> thresholds_of(const Input& input) {
  std::vector<const Json*> rows;
  if (input.kind() == "phase.critical")
    for (const Json& row : records_of(input)) rows.push_back(&row);
  else
    for (const Json& row : summary_rows(input, "lines")) rows.push_back(&row);
  return rows;
}

struct LineStyle {
  std::string symbol, title, colour;  // in the key: the one or the other
  std::size_t dash;
};

LineStyle line_style(const std::string& which) {
  static const std::map<std::string, LineStyle> styles{
      {"alpha_c", {"{/:Italic α}_c", "", colour::black, 0}},
      {"alpha_l", {"{/:Italic α}_l", "", colour::black, 1}},
      {"alpha_weak", {"{/:Italic α}_{weak}", "", colour::green, 1}},
      {"alpha_it", {"{/:Italic α}_{IT}", "", colour::green, 0}},
      {"semantic_exists", {"", "semantic exists", colour::blue, 0}},
      {"semantic_stable", {"", "semantic stable", colour::blue, 1}},
      {"positional_exists", {"", "positional exists", colour::vermillion, 0}},
      {"positional_stable", {"", "positional stable", colour::vermillion, 1}}};
  const auto found = styles.find(which);
  return found == styles.end() ? LineStyle{"", which, colour::purple, 2} : found->second;
}

// The lines of one file. Where a branch has several limits at one omega, the k-th lower ones form a line, and
// the k-th upper ones.
struct Lines {
  std::string file;
  Curves curves{"omega"};
};

std::vector<Lines> gather_lines(const std::vector<Input>& inputs, const std::string& kind) {
  std::vector<Lines> lines;
  for (const Input& input : inputs) {
    if (input.kind() != kind) continue;
    lines.push_back({file_label(inputs, input)});
    std::map<std::pair<std::string, double>, int> count;
    for (const Json* row : thresholds_of(input)) {
      const std::string which = word_field(*row, "which"), limit = word_field(*row, "limit", "");
      const int k = ++count[{which + limit, number_field(*row, "omega")}];
      lines.back().curves.add(which, limit.empty() ? "" : limit + " limit " + std::to_string(k), *row);
    }
  }
  return lines;
}

// Filled for the full lines of the first file.
std::string line_marker(const LineStyle& style, std::size_t file) {
  return style.dash == 0 && file == 0 ? " pointtype 7" : marker(style.dash + 2 * file);
}

void add_lines(Panel& panel, const std::vector<Lines>& lines) {
  for (std::size_t file = 0; file < lines.size(); ++file)
    for (const Curve& curve : lines[file].curves.all()) {
      const LineStyle style = line_style(curve.name);
      Series series = block(curve, "omega", "value");
      series.name = joined({series.name, lines[file].file});
      series.layers = {"using 2:1 with lines linewidth 1.4" + in_colour(style.colour) + dashes(style.dash),
                       "using 2:1:3 with xerrorbars pointsize 0.3 linewidth 0.9" + line_marker(style, file) +
                           in_colour(style.colour)};
      panel.series.push_back(series);
    }
}

void add_line_key(std::vector<KeyEntry>& key, const std::vector<Lines>& lines) {
  for (std::size_t file = 0; file < lines.size(); ++file)
    for (const std::string& which : lines[file].curves.names()) {
      const LineStyle style = line_style(which);
      key.push_back({joined({style.title, lines[file].file}),
                     "with linespoints linewidth 1.4 pointsize 0.3" + in_colour(style.colour) +
                         dashes(style.dash) + line_marker(style, file),
                     style.symbol});
    }
}

using Place = std::pair<double, double>;  // alpha, omega

// Half-way to the neighbours; the ends of the grid are the ends of the map.
std::map<double, std::pair<double, double>> cells(const std::set<double>& values) {
  std::map<double, std::pair<double, double>> found;
  const std::vector<double> v(values.begin(), values.end());
  for (std::size_t i = 0; i < v.size(); ++i)
    found[v[i]] = {i > 0 ? (v[i - 1] + v[i]) / 2 : v[i], i + 1 < v.size() ? (v[i] + v[i + 1]) / 2 : v[i]};
  if (v.size() == 1) found[v[0]] = {v[0] - 0.05, v[0] + 0.05};
  return found;
}

// A colour for every place, or a shade of grey where there is a reason why it has none.
struct Map {
  std::string name, label, palette;
  std::map<Place, Estimate> values;
  std::map<Place, std::size_t> greys;  // index in kGreys
};
struct Grey {
  std::string label, colour;
};
const std::vector<Grey> kGreys{
    {"only positional", "#C4C4C4"}, {"only semantic", "#8C8C8C"}, {"neither", "#EAEAEA"}};

Panel map_panel(const Map& map, const std::set<double>& alphas, const std::set<double>& omegas) {
  const auto alpha_cells = cells(alphas), omega_cells = cells(omegas);
  auto cell = [&](const Place& at) {
    const auto &a = alpha_cells.at(at.first), &o = omega_cells.at(at.second);
    return std::vector<double>{at.first, at.second, a.first, a.second, o.first, o.second};
  };
  auto range = [](double low, double high) {
    std::string text = "[";
    return text.append(label_number(low)).append(":").append(label_number(high)).append("]");
  };
  auto extent = [&](const auto& all) {
    return range(all.begin()->second.first, all.rbegin()->second.second);
  };
  const std::string boxes = " with boxxyerror fillstyle solid 1.0 linewidth 0.3";
  const std::vector<std::string> columns{"alpha",      "omega",     "alpha_low",
                                         "alpha_high", "omega_low", "omega_high"};

  Panel panel{"", kAlphaAxis, kOmegaAxis, {}, {}, map.label};
  for (std::size_t i = 0; i < kGreys.size(); ++i) {
    panel.series.push_back({map.name + ": " + kGreys[i].label,
                            columns,
                            {},
                            {"using 1:2:3:4:5:6" + boxes + in_colour(kGreys[i].colour)}});
    for (const auto& [at, grey] : map.greys)
      if (grey == i) panel.series.back().rows.push_back(cell(at));
  }
  Series known{map.name, columns, {}, {}};
  known.columns.insert(known.columns.end(), {"difference", "difference_error"});
  double largest = 0;
  for (const auto& [at, e] : map.values) {
    known.rows.push_back(cell(at));
    known.rows.back().insert(known.rows.back().end(), {e.value, e.error});
    largest = std::max(largest, std::abs(e.value));
  }
  const Scale scale = scale_for(largest);
  known.layers = {"using 1:2:3:4:5:6:" + scale.column(7) + boxes + " linecolor palette"};
  panel.series.push_back(known);
  panel.colour_label += scale.label;
  panel.settings = {map.palette, "set xrange " + extent(alpha_cells), "set yrange " + extent(omega_cells)};
  if (largest > 0)
    panel.settings.push_back("set cbrange " + range(-largest * scale.factor, largest * scale.factor));
  return panel;
}

std::optional<Estimate> difference(const Json* a, const Json* b, const std::string& of_a,
                                   const std::string& of_b) {
  if (a == nullptr || b == nullptr) return {};
  const auto x = estimate(*a, of_a), y = estimate(*b, of_b);
  if (!x || !y) return {};
  return Estimate{x->value - y->value, std::hypot(x->error, y->error)};
}

}  // namespace

Figure phase_diagram(const std::vector<Input>& inputs) {
  std::set<double> alphas, omegas;
  std::map<Place, std::map<std::string, const Json*>> found;
  for (const Json& record : records_of(inputs.front())) {
    const Place at{number_field(record, "alpha"), number_field(record, "omega")};
    alphas.insert(at.first);
    omegas.insert(at.second);
    auto& branches = found[at];
    if (!converged(record)) continue;
    branches[word_field(record, "branch")] = &record;
    if (flag_field(record, "global_minimum", false)) branches["global minimum"] = &record;
  }
  Map loss{"train_loss, positional - semantic",
           "{/:Italic ε}_t^{pos} − {/:Italic ε}_t^{sem}",
           red_blue_palette(),
           {},
           {}};
  Map error{
      "gen_error - gen_error_linear", "{/:Italic ε}_g − {/:Italic ε}_g^{lin}", green_brown_palette(), {}, {}};
  std::set<std::size_t> greys;
  for (auto& [at, branches] : found) {
    const Json *positional = branches["positional"], *semantic = branches["semantic"],
               *best = branches["global minimum"];
    if (const auto value = difference(positional, semantic, "train_loss", "train_loss"))
      loss.values[at] = *value;
    else if (positional != nullptr || semantic != nullptr)
      greys.insert(loss.greys[at] = positional != nullptr ? 0 : 1);
    else if (branches["uninformed"] != nullptr)
      greys.insert(loss.greys[at] = 2);
    if (const auto value = difference(best, best, "gen_error", "gen_error_linear")) error.values[at] = *value;
  }
  const bool precise = std::any_of(inputs.begin(), inputs.end(),
                                   [](const Input& input) { return input.kind() == "phase.critical"; });
  const std::vector<Lines> lines = gather_lines(inputs, precise ? "phase.critical" : "phase.sweep");
  Figure figure;
  if (found.empty()) return figure;
  figure.panel_height = 4.2;
  figure.shared_axes = true;
  for (const Map& map : {loss, error}) {
    figure.panels.push_back(map_panel(map, alphas, omegas));
    add_lines(figure.panels.back(), lines);
  }
  add_line_key(figure.key, lines);
  for (const std::size_t i : greys)
    figure.key.push_back({kGreys[i].label, "with boxes fillstyle solid 1.0" + in_colour(kGreys[i].colour)});
  return figure;
}

Figure threshold_lines(const std::vector<Input>& inputs) {
  const std::vector<Lines> lines = gather_lines(inputs, "phase.critical");
  Figure figure;
  figure.panel_height = 5;
  figure.panels.push_back({"", kAlphaAxis, kOmegaAxis, {kRoom}, {}, ""});
  add_lines(figure.panels.back(), lines);
  add_line_key(figure.key, lines);
  return figure;
}

}  // namespace qksolve::results
