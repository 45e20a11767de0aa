// Coupled query-key dynamics: spectra of the attention against the context length.
#include <algorithm>
#include <set>

#include "qksolve/results/fields.hpp"
#include "qksolve/results/figures/inputs.hpp"

namespace qksolve::results {

namespace {

// What is drawn, with the name on its axis; the logit moments of the records are statements, not spectra.
const std::vector<std::pair<std::string, std::string>> kDrawn{
    {"sigma_ratio", "{/Symbol s}_1 / {/Symbol s}_2"},
    {"effective_rank", "effective rank"},
    {"entropy", "entropy"},
    {"concentration", "{/:Italic T} {/Symbol S} {/:Italic a}^2"},
    {"self_attention", "{/:Italic T a_{ii}}"}};

// How the map was set, without the integrator.
std::string setting(const Json& record) {
  auto text = [&](const char* key) {
    return record.contains(key) ? record.at(key).dump() : std::string("?");
  };
  return word_field(record, "coupling", "?") + ", h = " + text("step_size") +
         ", n = " + text("coupling_steps");
}

}  // namespace

Figure attention_spectra(const std::vector<Input>& inputs) {
  std::set<std::string> settings;
  for (const Input& input : inputs)
    for (const Json& record : records_of(input))
      if (record.contains("context")) settings.insert(setting(record));
  if (settings.empty() && !records_of(inputs.front()).empty())
    throw ContentError(
        inputs.front().path +
        ": nothing to draw, no record has a context, expected a run with attention (--context)");
  std::vector<std::pair<std::string, Curves>> found;
  for (const auto& [quantity, title] : kDrawn) {
    Curves curves("context");
    bool any = false;
    for (const Input& input : inputs)
      for (const Json& record : records_of(input)) {
        if (!record.contains("context") || word_field(record, "quantity") != quantity ||
            !record.contains("measured"))
          continue;
        std::string name = word_field(record, "integrator");
        if (settings.size() > 1) name += ", " + setting(record);
        curves.add(name, file_label(inputs, input), record);
        any = true;
      }
    if (any) found.emplace_back(title, curves);
  }
  Figure figure;
  figure.shared_axes = true;
  std::vector<std::string> names;
  for (const auto& [title, curves] : found) {
    Panel panel{"", "context length {/:Italic T}", title, {"set logscale x 2"}, {}, ""};
    for (const Curve& curve : curves.all()) {
      if (std::find(names.begin(), names.end(), curve.name) == names.end()) names.push_back(curve.name);
      const auto index =
          static_cast<std::size_t>(std::find(names.begin(), names.end(), curve.name) - names.begin());
      const std::string style = in_colour(line_colour(index));
      Series measured = block(curve, "context", "measured"), predicted = block(curve, "context", "predicted");
      measured.layers = {
          "using 1:2:3 with yerrorbars pointsize 0.4 linewidth 0.9" + marker(curves.variant(curve)) + style,
          "using 1:2 with lines linewidth 1.2" + style};
      predicted.layers = {"using 1:2 with lines linewidth 1 dashtype 2" + style};
      panel.series.push_back(measured);
      panel.series.push_back(predicted);
    }
    figure.panels.push_back(panel);
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    figure.key.push_back(
        {names[i], "with linespoints linewidth 1.2 pointsize 0.4" + marker(0) + in_colour(line_colour(i))});
  return figure;
}

}  // namespace qksolve::results
