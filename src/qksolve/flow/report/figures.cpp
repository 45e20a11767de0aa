// Gradient flow: trajectories over time, states of equal loss, attention of trained models.
#include <algorithm>
#include <cmath>
#include <set>

#include "qksolve/results/fields.hpp"
#include "qksolve/results/figures/inputs.hpp"

namespace qksolve::results {

namespace {

const std::string kRatio = "{/:Italic η}_{QK}/{/:Italic η}_{OV}";

// Few ratios are told apart by dashes and the parameterizations by colour; many ratios need the colours.
struct Styles {
  std::vector<std::string> parameterizations, variants;

  bool variants_by_colour() const { return variants.size() > 5; }
  std::size_t place(const std::vector<std::string>& words, const std::string& word) const {
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
  }
  std::string of(const std::string& parameterization, const std::string& variant) const {
    const std::size_t p = place(parameterizations, parameterization), v = place(variants, variant);
    if (!variants_by_colour()) return in_colour(line_colour(p)) + dashes(v);
    return in_colour(sequential_colour(static_cast<double>(v) / static_cast<double>(variants.size() - 1))) +
           dashes(p);
  }
  void add_key(std::vector<KeyEntry>& key) const {
    const std::string line = "with lines linewidth 1.6", black = in_colour(colour::black);
    for (std::size_t i = 0; i < parameterizations.size(); ++i)
      key.push_back({parameterizations[i],
                     line + (variants_by_colour() ? black + dashes(i) : in_colour(line_colour(i)))});
    if (variants.size() == 1) return;
    for (std::size_t i = 0; i < variants.size(); ++i)
      key.push_back({variants[i], line + (variants_by_colour() ? of(parameterizations[0], variants[i])
                                                               : black + dashes(i))});
  }
};

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  for (const std::string& word : more)
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

std::vector<std::vector<double>> heatmap_of(const Json& row) {
  if (!row.is_object() || !row.contains("heatmap")) throw FieldError(row, "heatmap", "rows of numbers");
  const Json& heatmap = row.at("heatmap");
  const auto is_number = [](const Json& entry) { return entry.is_number(); };
  const auto is_row = [&](const Json& entries) {
    return entries.is_array() && std::all_of(entries.begin(), entries.end(), is_number);
  };
  if (!heatmap.is_array() || !std::all_of(heatmap.begin(), heatmap.end(), is_row))
    throw FieldError(row, "heatmap", "rows of numbers");
  return heatmap.get<std::vector<std::vector<double>>>();
}

}  // namespace

Figure flow_trajectories(const std::vector<Input>& inputs) {
  Curves reduced("t"), full("t");
  for (const Input& input : inputs)
    for (const Json& record : records_of(input)) {
      if (!record.contains("t") || record.contains("at_loss") || !(number_field(record, "t") > 0)) continue;
      const std::string variant =
          joined({"rate ratio " + label_number(number_field(record, "ratio")), file_label(inputs, input)});
      (input.kind() == "flow.solve" ? reduced : full)
          .add(word_field(record, "parameterization"), variant, record);
    }
  Styles styles;
  append(styles.parameterizations, reduced.names());
  append(styles.parameterizations, full.names());
  append(styles.variants, reduced.variants());
  append(styles.variants, full.variants());
  Figure figure;
  figure.shared_axes = true;
  figure.panel_height = 3.0;
  const std::vector<std::pair<std::string, std::string>> quantities{
      {"u", "{/:Italic u}"}, {"beta", "{/:Italic β}"}, {"p", "attention {/:Italic p}"}, {"loss", "loss"}};
  for (const auto& [quantity, label] : quantities) {
    Panel panel{"", "time {/:Italic t}", label, {"set logscale x", "set format x \"10^{%T}\""}, {}, ""};
    if (quantity == "loss") {
      panel.settings.emplace_back("set logscale y");
      panel.settings.emplace_back("set format y \"10^{%T}\"");
    }
    if (quantity == "p") panel.settings.emplace_back("set yrange [0:1.02]");
    for (const Curve& curve : reduced.all()) {
      Series series = block(curve, "t", quantity);
      series.layers = {"using 1:2 with lines linewidth 1.4" + styles.of(curve.name, curve.variant)};
      panel.series.push_back(series);
    }
    for (const Curve& curve : full.all()) {
      Series series = block(curve, "t", quantity);
      series.name += ", full matrices";
      series.layers = {"using 1:2 with points pointsize 0.4" +
                       marker(styles.place(styles.parameterizations, curve.name)) +
                       styles.of(curve.name, curve.variant)};
      panel.series.push_back(series);
    }
    figure.panels.push_back(panel);
  }
  styles.add_key(figure.key);
  if (!full.all().empty())
    figure.key.push_back(
        {"full matrices", "with points pointsize 0.4" + marker(0) + in_colour(colour::black)});
  return figure;
}

Figure equal_loss(const std::vector<Input>& inputs) {
  Curves curves("ratio");
  for (const Input& input : inputs)
    for (const Json& record : records_of(input))
      if (record.contains("at_loss"))
        curves.add(
            word_field(record, "parameterization"),
            joined({"loss " + label_number(number_field(record, "at_loss")), file_label(inputs, input)}),
            record);
  const Styles styles{curves.names(), curves.variants()};
  Figure figure;
  figure.panel_height = 5;
  Panel panel{"",
              kRatio,
              "attention {/:Italic p} at equal loss",
              {"set logscale x", "set format x \"10^{%T}\"", "set yrange [0:1.02]"},
              {},
              ""};
  for (const Curve& curve : curves.all()) {
    Series series = block(curve, "ratio", "p");
    series.layers = {"using 1:2 with lines linewidth 1.4" + styles.of(curve.name, curve.variant),
                     "using 1:2:3 with yerrorbars pointtype 7 pointsize 0.2 linewidth 0.6" +
                         styles.of(curve.name, curve.variant)};
    panel.series.push_back(series);
  }
  figure.panels.push_back(panel);
  styles.add_key(figure.key);
  return figure;
}

Figure attention_maps(const std::vector<Input>& inputs) {
  Figure figure;
  figure.shared_axes = true;
  double largest = 0;
  for (const Input& input : inputs)
    for (const Json& row : summary_rows(input, "attention")) {
      const double ratio = number_field(row, "ratio");
      const std::string name = word_field(row, "parameterization");
      const std::vector<std::vector<double>> heatmap = heatmap_of(row);
      Series series{
          joined({name, "ratio " + label_number(ratio), file_label(inputs, input)}),
          {"mass", "probability", "mass_low", "mass_high", "probability_low", "probability_high", "percent"},
          {},
          {"using 1:2:3:4:5:6:7 with boxxyerror fillstyle solid 1.0 linewidth 0.3 linecolor palette"}};
      const double width = 1.0 / static_cast<double>(heatmap.size());
      for (std::size_t i = 0; i < heatmap.size(); ++i)
        for (std::size_t j = 0; j < heatmap[i].size(); ++j) {
          const double percent = heatmap[i][j];
          if (!(percent > 0)) continue;  // white, unlike the smallest share
          const double a = static_cast<double>(i) * width, p = static_cast<double>(j) * width;
          series.rows.push_back({a + width / 2, p + width / 2, a, a + width, p, p + width, percent});
          largest = std::max(largest, percent);
        }
      figure.panels.push_back({series.name,
                               "attention mass {/:Italic A}",
                               "probability {/:Italic P}",
                               {},
                               {series},
                               "sequences (%)"});
    }
  figure.columns = figure.panels.size() > 1 ? 2 : 1;
  figure.panel_height = panel_width(figure);
  std::string range = "set cbrange [0:";
  range.append(label_number(largest)).append("]");
  for (Panel& panel : figure.panels)
    panel.settings = {cividis_palette(), range,           "set xrange [0:1]", "set yrange [0:1]",
                      "set xtics 0.5",   "set ytics 0.5", "set mxtics 5",     "set mytics 5"};
  return figure;
}

}  // namespace qksolve::results
