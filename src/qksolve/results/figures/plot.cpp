#include "qksolve/results/figures/plot.hpp"

#include <algorithm>

#include "qksolve/results/fields.hpp"
#include "qksolve/results/same_model.hpp"

namespace qksolve::results {

namespace {

struct FigureOfKind {
  std::string kind;
  std::vector<std::string> partners;  // kinds that can be drawn into it
  Figure (*make)(const std::vector<Input>&);
};

bool any_row(const std::vector<Input>& inputs, const std::function<bool(const Json&)>& is) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const Input& input) {
    const Json& records = records_of(input);
    return std::any_of(records.begin(), records.end(), is);
  });
}

Figure of_flow_solve(const std::vector<Input>& inputs) {
  return any_row(inputs, [](const Json& row) { return row.contains("at_loss"); }) ? equal_loss(inputs)
                                                                                  : flow_trajectories(inputs);
}

Figure of_flow_simulate(const std::vector<Input>& inputs) {
  return summary_rows(inputs.front(), "attention").empty() ? flow_trajectories(inputs)
                                                           : attention_maps(inputs);
}

Figure of_phase_simulate(const std::vector<Input>& inputs) {
  return summary_rows(inputs.front(), "extrapolation").empty() ? phase_curves(inputs) : finite_size(inputs);
}

const std::vector<FigureOfKind>& figures() {
  static const std::vector<FigureOfKind> all{
      {"phase.sweep", {"phase.critical"}, phase_diagram},
      {"phase.critical", {"phase.critical"}, threshold_lines},
      {"phase.solve", {"phase.solve", "phase.simulate"}, phase_curves},
      {"phase.simulate", {"phase.simulate", "phase.solve"}, of_phase_simulate},
      {"flow.solve", {"flow.solve", "flow.simulate"}, of_flow_solve},
      {"flow.simulate", {"flow.simulate", "flow.solve"}, of_flow_simulate},
      {"flow.train", {"flow.train"}, trained_text},
      {"coupled.solve", {"coupled.solve"}, attention_spectra}};
  return all;
}

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  return text;
}

void require_drawable_together(const FigureOfKind& figure, const Input& first, const Input& other) {
  const std::string kind = other.kind();
  if (std::find(figure.partners.begin(), figure.partners.end(), kind) == figure.partners.end())
    throw ContentError(other.path + ": " + kind + " cannot be drawn into the figure of " + figure.kind +
                       " (" + first.path + "), expected " + list(figure.partners));
  if (kind.starts_with("phase."))
    require_same_phase_model(first.result, first.path, other.result, other.path);
  if (kind == "flow.train")
    require_same_text(first.result, first.path, other.result, other.path);
  else if (kind.starts_with("flow."))
    require_same_flow_model(first.result, first.path, other.result, other.path);
}

// With the file and the row.
[[noreturn]] void refuse_field(const std::vector<Input>& inputs, const FieldError& error) {
  for (const Input& input : inputs) {
    const std::string place = place_of_row(input.result, error.row());
    if (!place.empty()) throw ContentError(input.path + ": " + place + error.what());
  }
  throw ContentError(inputs.front().path + ": " + error.what());
}

void drop_empty(Figure& figure) {
  for (Panel& panel : figure.panels)
    std::erase_if(panel.series, [](const Series& series) { return series.rows.empty(); });
  std::erase_if(figure.panels, [](const Panel& panel) { return panel.series.empty(); });
}

}  // namespace

std::vector<std::string> kinds_with_figure() {
  std::vector<std::string> kinds;
  for (const FigureOfKind& figure : figures()) kinds.push_back(figure.kind);
  return kinds;
}

Figure make_figure(const std::vector<Input>& inputs) {
  const Input& first = inputs.front();
  const auto found = std::find_if(figures().begin(), figures().end(),
                                  [&](const FigureOfKind& f) { return f.kind == first.kind(); });
  if (found == figures().end())
    throw ContentError(first.path + ": " + first.kind() + " has no figure, expected " +
                       list(kinds_with_figure()));
  for (const Input& input : inputs) {
    member(input.path, input.result, "records", "a list", &Json::is_array);
    member(input.path, input.result, "summary", "an object", &Json::is_object);
    if (&input != &first) require_drawable_together(*found, first, input);
  }
  Figure figure;
  try {
    figure = found->make(inputs);
  } catch (const FieldError& error) {
    refuse_field(inputs, error);
  }
  drop_empty(figure);
  if (figure.panels.empty())
    throw ContentError(first.path + ": nothing to draw, " +
                       (records_of(first).empty()     ? "it holds no record"
                        : !any_row(inputs, converged) ? "none of its records is converged"
                                                      : "its records hold nothing that the figure shows"));
  return figure;
}

}  // namespace qksolve::results
