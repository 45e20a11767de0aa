// Trained text models: attention and accuracy against the ratio of the rates.
#include <algorithm>
#include <set>

#include "qksolve/results/fields.hpp"
#include "qksolve/results/figures/inputs.hpp"

namespace qksolve::results {

namespace {

const std::string kRatio = "{/:Italic η}_{QK}/{/:Italic η}_{OV}";
constexpr std::size_t kFewRatios = 2;

std::set<double> positive_ratios(const Input& input) {
  std::set<double> ratios;
  for (const Json& arm : summary_rows(input, "arms"))
    if (const double ratio = number_field(arm, "ratio"); ratio > 0) ratios.insert(ratio);
  return ratios;
}

Figure curves_of(const std::vector<Input>& inputs) {
  Curves curves("ratio");
  double smallest = 1, largest = 1;
  for (const Input& input : inputs)
    for (const Json& arm : summary_rows(input, "arms")) {
      const double ratio = number_field(arm, "ratio");
      if (!(ratio > 0)) continue;  // uniform attention has no place on a logarithmic axis
      curves.add(word_field(arm, "parameterization"), file_label(inputs, input), arm);
      smallest = std::min(smallest, ratio);
      largest = std::max(largest, ratio);
    }
  Figure figure;
  figure.shared_axes = true;
  figure.panel_height = 3.5;
  const std::vector<std::pair<std::string, std::string>> quantities{
      {"mass", "mass {/:Italic A}"},
      {"entropy", "entropy"},
      {"accuracy", "accuracy"},
      {"sufficiency", "sufficiency"},
      {"comprehensiveness", "comprehensiveness"}};
  for (const auto& [name, label] : quantities) {
    Panel panel{"", kRatio, label, {"set logscale x", "set format x \"10^{%T}\""}, {}, ""};
    for (const Curve& curve : curves.all()) {
      Series series = block(curve, "ratio", name, [](const Json&) { return true; });
      const std::string style = in_colour(line_colour(static_cast<std::size_t>(
                                    std::find(curves.names().begin(), curves.names().end(), curve.name) -
                                    curves.names().begin()))) +
                                dashes(curves.variant(curve));
      series.layers = {"using 1:2 with lines linewidth 1.2" + style,
                       "using 1:2:3 with yerrorbars pointtype 7 pointsize 0.25 linewidth 0.8" + style};
      panel.series.push_back(series);
    }
    if (name == "mass")
      for (const Input& input : inputs) {
        const Json& arms = summary_rows(input, "arms");
        const auto known = std::find_if(arms.begin(), arms.end(),
                                        [](const Json& arm) { return arm.contains("uniform_mass"); });
        if (known == arms.end()) continue;
        const double uniform = number_field(*known, "uniform_mass");
        panel.series.push_back({"uniform attention",
                                {"ratio", "uniform_mass"},
                                {{smallest, uniform}, {largest, uniform}},
                                {"using 1:2 with lines linewidth 1 dashtype 3" + in_colour(colour::black)}});
      }
    figure.panels.push_back(panel);
  }
  for (std::size_t i = 0; i < curves.names().size(); ++i)
    figure.key.push_back({curves.names()[i], "with lines linewidth 1.6" + in_colour(line_colour(i))});
  if (curves.variants().size() > 1)
    for (std::size_t i = 0; i < curves.variants().size(); ++i)
      figure.key.push_back(
          {curves.variants()[i], "with lines linewidth 1.6" + dashes(i) + in_colour(colour::black)});
  figure.key.push_back({"uniform attention", "with lines linewidth 1 dashtype 3" + in_colour(colour::black)});
  return figure;
}

// With its percentage in each cell, in the colour that can be read on it.
Figure maps_of(const std::vector<Input>& inputs) {
  Figure figure = attention_maps(inputs);
  double largest = 0;
  for (const Panel& panel : figure.panels)
    for (const Series& series : panel.series)
      for (const std::vector<double>& row : series.rows) largest = std::max(largest, row.back());
  for (Panel& panel : figure.panels)
    for (Series& series : panel.series)
      series.layers.push_back("using 1:2:(sprintf(\"%.0f\", $7)):($7 > " + label_number(largest / 2) +
                              " ? 0x000000 : 0xffffff) with labels font \",5\" textcolor rgb variable");
  return figure;
}

}  // namespace

Figure trained_text(const std::vector<Input>& inputs) {
  return positive_ratios(inputs.front()).size() > kFewRatios ? curves_of(inputs) : maps_of(inputs);
}

}  // namespace qksolve::results
