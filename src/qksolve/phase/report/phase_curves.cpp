// Overlaps and losses against alpha: theory as lines, simulations as points.
#include <algorithm>
#include <set>

#include "qksolve/phase/report/phase_style.hpp"
#include "qksolve/results/fields.hpp"

namespace qksolve::results {

namespace {

struct Gathered {
  Curves theory{"alpha"}, simulation{"alpha"};

  double largest(const std::string& quantity) const {
    return std::max(theory.largest(quantity), simulation.largest(quantity));
  }
};

Gathered gather(const std::vector<Input>& inputs) {
  std::set<double> omegas;
  for (const Input& input : inputs)
    for (const Json& record : records_of(input)) omegas.insert(number_field(record, "omega"));
  auto omega_label = [&](const Json& row) {
    return omegas.size() == 1 ? "" : label_value("ω", number_field(row, "omega"));
  };
  Gathered found;
  for (const Input& input : inputs) {
    const std::string file = file_label(inputs, input);
    if (input.kind() == "phase.solve")
      for (const Json& record : records_of(input))
        found.theory.add(word_field(record, record.contains("learner") ? "learner" : "branch"),
                         joined({omega_label(record), file}), record);
    const bool extrapolated = !summary_rows(input, "extrapolation").empty();
    for (const Json& row : summary_rows(input, extrapolated ? "extrapolation" : "groups")) {
      const std::string size = extrapolated ? "d → ∞" : label_value("d", number_field(row, "d"));
      found.simulation.add(word_field(row, "init"), joined({"simulation", size, omega_label(row), file}),
                           row);
    }
  }
  return found;
}

void add_quantity(Panel& panel, const Gathered& found, const std::string& quantity, const Scale& scale,
                  const std::function<bool(const std::string&)>& shown) {
  const std::string y = scale.column(2), y_error = scale.column(3);
  for (const Curve& curve : found.theory.all()) {
    if (!shown(curve.name)) continue;
    const std::string colour = in_colour(branch_colour(curve.name)),
                      line = colour + dashes(found.theory.variant(curve));
    Series series = block(curve, "alpha", quantity);
    series.layers = {"using 1:" + y + " with lines linewidth 0.8" + line,
                     "using 1:" + y + ":" + y_error +
                         " with yerrorbars pointtype 7 pointsize 0.15 linewidth 0.6" + colour};
    Series global = block(curve, "alpha", quantity, [](const Json& row) {
      return converged(row) && flag_field(row, "global_minimum", false);
    });
    global.name += ", global minimum";
    global.layers = {"using 1:" + y + " with lines linewidth 2.2" + line};
    panel.series.push_back(series);
    panel.series.push_back(global);
  }
  for (const Curve& curve : found.simulation.all()) {
    if (!shown(curve.name)) continue;
    Series series = block(curve, "alpha", quantity);
    series.layers = {"using 1:" + y + ":" + y_error + " with yerrorbars pointsize 0.6 linewidth 0.9" +
                     marker(found.simulation.variant(curve)) + in_colour(branch_colour(curve.name))};
    panel.series.push_back(series);
  }
}

const std::string kBaselineStyle = "with lines linewidth 1.2 dashtype 3" + in_colour(colour::black);

// The linear baseline is the same for all branches.
void add_baseline(Panel& panel, const Gathered& found, const Scale& scale) {
  std::set<std::string> drawn;
  for (const Curve& curve : found.theory.all()) {
    if (!drawn.insert(curve.variant).second) continue;
    Series series = block(curve, "alpha", "gen_error_linear", [](const Json&) { return true; });
    series.name = joined({"linear baseline", curve.variant});
    series.layers = {"using 1:" + scale.column(2) + " " + kBaselineStyle};
    panel.series.push_back(series);
  }
}

std::vector<KeyEntry> key(const Gathered& found) {
  std::vector<KeyEntry> entries;
  std::vector<std::string> names = found.theory.names();
  for (const std::string& name : found.simulation.names())
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  entries.reserve(names.size());
  for (const std::string& name : names)
    entries.push_back({name, "with lines linewidth 1.2" + in_colour(branch_colour(name))});
  if (!found.theory.all().empty())
    entries.push_back({"global minimum", "with lines linewidth 2.2" + in_colour(colour::black)});
  const std::vector<std::string>&lines = found.theory.variants(), &points = found.simulation.variants();
  if (lines.size() > 1)
    for (std::size_t i = 0; i < lines.size(); ++i)
      entries.push_back({lines[i], "with lines linewidth 1.2" + in_colour(colour::black) + dashes(i)});
  if (!lines.empty()) entries.push_back({"linear baseline", kBaselineStyle});
  for (std::size_t i = 0; i < points.size(); ++i)
    entries.push_back({points[i], "with points pointsize 0.6" + marker(i) + in_colour(colour::black)});
  return entries;
}

}  // namespace

Figure phase_curves(const std::vector<Input>& inputs) {
  const Gathered found = gather(inputs);
  Figure figure;
  figure.shared_axes = true;
  Panel overlaps{"", kAlphaAxis, "overlaps {/:Italic θ}, {/:Italic m}", {"set yrange [0:*]", kRoom}, {}, ""};
  // Or their lengths, where they are matrices.
  for (const std::string overlap : {"theta", "m"})
    for (const std::string& quantity : {overlap, std::string(overlap == "m" ? "mu_norm" : "theta_norm")})
      add_quantity(overlaps, found, quantity, {},
                   [&](const std::string& branch) { return has_overlap(branch, overlap); });
  figure.panels.push_back(overlaps);
  for (const auto& [quantity, label] :
       {std::pair<std::string, std::string>{"train_loss", "train loss {/:Italic ε}_t"},
        {"gen_error", "test error {/:Italic ε}_g"}}) {
    const Scale scale = scale_for(found.largest(quantity));
    Panel panel{"", kAlphaAxis, label + scale.label, {"set yrange [0:*]", kRoom}, {}, ""};
    add_quantity(panel, found, quantity, scale, [](const std::string&) { return true; });
    if (quantity == "gen_error") add_baseline(panel, found, scale);
    figure.panels.push_back(panel);
  }
  figure.key = key(found);
  return figure;
}

}  // namespace qksolve::results
