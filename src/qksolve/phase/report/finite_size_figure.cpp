// Finite-size scaling: losses and overlaps of simulations against 1/d, relative to their limit, with the fit.
#include <algorithm>
#include <cmath>
#include <set>

#include "qksolve/phase/report/phase_style.hpp"
#include "qksolve/results/fields.hpp"

namespace qksolve::results {

namespace {

// Rows of one (alpha, omega, init, optimizer).
bool same_run(const Json& a, const Json& b) {
  return number_field(a, "alpha") == number_field(b, "alpha") &&
         number_field(a, "omega") == number_field(b, "omega") &&
         word_field(a, "init") == word_field(b, "init") &&
         word_field(a, "optimizer") == word_field(b, "optimizer");
}

// One line of the figure.
struct Run {
  const Input* input;
  const Json* limit;
  std::vector<const Json*> sizes;
  std::string place, file;
  const Json* theory = nullptr;
};

std::vector<Run> gather(const std::vector<Input>& inputs) {
  std::vector<Run> runs;
  std::set<std::pair<double, double>> places;
  for (const Input& input : inputs)
    for (const Json& limit : summary_rows(input, "extrapolation")) {
      runs.push_back({&input, &limit, {}, "", file_label(inputs, input), nullptr});
      places.emplace(number_field(limit, "alpha"), number_field(limit, "omega"));
      for (const Json& row : summary_rows(input, "groups"))
        if (same_run(row, limit)) runs.back().sizes.push_back(&row);
    }
  for (Run& run : runs) {
    const Json& at = *run.limit;
    if (places.size() > 1)
      run.place =
          joined({label_value("α", number_field(at, "alpha")), label_value("ω", number_field(at, "omega"))});
    for (const Input& input : inputs)
      if (input.kind() == "phase.solve")
        for (const Json& record : records_of(input))
          if (converged(record) && word_field(record, "branch") == word_field(at, "init") &&
              number_field(record, "alpha") == number_field(at, "alpha") &&
              number_field(record, "omega") == number_field(at, "omega"))
            run.theory = &record;
  }
  return runs;
}

// The overlap of the run's start, or its length where it is a matrix.
std::string overlap_of(const Run& run) {
  const bool m = word_field(*run.limit, "init") == "positional";
  const std::string norm = m ? "mu_norm" : "theta_norm";
  return run.limit->contains(norm) ? norm : m ? "m" : "theta";
}

// Points, fit and theory in percent of the extrapolated value.
std::vector<Series> series_of(const Run& run, const std::string& quantity, std::size_t variant, double shift,
                              const Scale& scale) {
  const auto limit = estimate(*run.limit, quantity);
  const auto slope = estimate(*run.limit, quantity + "_slope");
  if (!limit || !slope || limit->value == 0) return {};
  const std::string name = joined({word_field(*run.limit, "init"), run.place, run.file});
  const std::string colour = in_colour(branch_colour(word_field(*run.limit, "init")));
  const std::vector<std::string> columns{"1/d", quantity + "_deviation_percent", "error"};
  const double percent = 100 / limit->value;
  Series points{name + ": " + quantity, columns, {}, {}}, fit{name + ": fit", columns, {}, {}},
      theory{name + ": theory", columns, {}, {}};
  double largest = 0;
  for (const Json* row : run.sizes)
    if (const auto e = estimate(*row, quantity)) {
      const double x = 1.0 / number_field(*row, "d");
      points.rows.push_back({x + shift, percent * (e->value - limit->value), std::abs(percent) * e->error});
      largest = std::max(largest, x);
    }
  fit.rows = {{shift, 0, std::abs(percent) * limit->error},
              {1.05 * largest, percent * slope->value * 1.05 * largest, 0}};
  if (run.theory != nullptr)
    if (const auto e = estimate(*run.theory, quantity))
      theory.rows.push_back({shift, percent * (e->value - limit->value), std::abs(percent) * e->error});
  const std::string x = scale.column(1);
  points.layers = {"using " + x + ":2:3 with yerrorbars pointsize 0.6 linewidth 0.9" + marker(variant) +
                   colour};
  fit.layers = {
      "using " + x + ":2 with lines linewidth 1.2" + colour + dashes(variant),
      "using " + x + ":2:3 every ::0::0 with yerrorbars pointtype 7 pointsize 0.2 linewidth 0.9" + colour};
  theory.layers = {"using " + x + ":2:3 with yerrorbars pointtype 2 pointsize 0.5 linewidth 1.2" + colour};
  return {points, fit, theory};
}

}  // namespace

Figure finite_size(const std::vector<Input>& inputs) {
  const std::vector<Run> runs = gather(inputs);
  Figure figure;
  figure.shared_axes = true;
  std::vector<std::string> variants;
  double largest = 0;
  for (const Run& run : runs) {
    const std::string label = joined({run.place, run.file});
    if (std::find(variants.begin(), variants.end(), label) == variants.end()) variants.push_back(label);
    for (const Json* row : run.sizes) largest = std::max(largest, 1.0 / number_field(*row, "d"));
  }
  const Scale scale = scale_for(largest);
  auto variant = [&](const Run& run) {
    return static_cast<std::size_t>(
        std::find(variants.begin(), variants.end(), joined({run.place, run.file})) - variants.begin());
  };
  for (const auto& [quantity, label] :
       {std::pair<std::string, std::string>{"train_loss", "Δ{/:Italic ε}_t/{/:Italic ε}_t"},
        {"gen_error", "Δ{/:Italic ε}_g/{/:Italic ε}_g"},
        {"overlap", "Δ{/:Italic θ}/{/:Italic θ}, Δ{/:Italic m}/{/:Italic m}"}}) {
    Panel panel{
        "", "1/{/:Italic d}" + scale.label, label + " (%)", {kRoom, "set xzeroaxis linewidth 0.5"}, {}, ""};
    for (const Run& run : runs)
      for (const Series& series :
           series_of(run, quantity == "overlap" ? overlap_of(run) : quantity, variant(run),
                     word_field(*run.limit, "init") == "semantic" ? 0.0 : 0.008 * largest, scale))
        panel.series.push_back(series);
    figure.panels.push_back(panel);
  }
  std::set<std::string> inits;
  bool theory = false;
  for (const Run& run : runs) {
    const std::string init = word_field(*run.limit, "init");
    if (inits.insert(init).second)
      figure.key.push_back({init, "with linespoints linewidth 1.2 pointsize 0.6" + marker(0) +
                                      in_colour(branch_colour(init))});
    theory = theory || run.theory != nullptr;
  }
  figure.key.push_back(
      {"fit, limit", "with linespoints linewidth 1.2 pointtype 7 pointsize 0.2" + in_colour(colour::black)});
  if (theory)
    figure.key.push_back({"theory", "with points pointtype 2 pointsize 0.5" + in_colour(colour::black)});
  if (variants.size() > 1)
    for (std::size_t i = 0; i < variants.size(); ++i)
      figure.key.push_back({variants[i], "with linespoints linewidth 1.2 pointsize 0.6" + marker(i) +
                                             dashes(i) + in_colour(colour::black)});
  return figure;
}

}  // namespace qksolve::results
