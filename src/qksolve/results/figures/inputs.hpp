// What the figures read from results, and how curves are gathered and drawn.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qksolve/results/figures/figure.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::results {

struct Input {
  std::string path;
  Json result;

  // "phase.solve" of "qksolve.phase.solve/1"; the whole schema if it is of another form or version.
  std::string kind() const;
};

// The records, or the rows of summary[key]; none if it has none.
const Json& records_of(const Input& input);
const Json& summary_rows(const Input& input, const std::string& key);

struct Estimate {
  double value = 0, error = 0;  // error 0 where the row has none
};
// Of a row's quantity, with control variates where it has them.
std::optional<Estimate> estimate(const Json& row, const std::string& quantity);

bool converged(const Json& row);

// A number as a label shows it, with four digits at most.
std::string label_number(double value);
// "ω = 0.3", upright: marks for fonts would spoil the columns of a key.
std::string label_value(const std::string& symbol, double value);

// The labels that are not empty, with commas between.
std::string joined(const std::vector<std::string>& labels);

// The name of a file, without folder and extension, if several of its kind are drawn; else "".
std::string file_label(const std::vector<Input>& inputs, const Input& input);

// Rows that belong to one line: `name` selects the colour, `variant` the dashes or the marker.
struct Curve {
  std::string name, variant;
  std::vector<const Json*> rows;  // ascending in x
};
class Curves {
 public:
  explicit Curves(std::string x) : x_(std::move(x)) {}
  // Keeps a pointer to the row. A row without the number x is left out.
  void add(const std::string& name, const std::string& variant, const Json& row);
  const std::vector<Curve>& all() const { return curves_; }
  const std::string& x() const { return x_; }
  // In order of appearance.
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& variants() const { return variants_; }
  std::size_t variant(const Curve& curve) const;
  // Largest size of a quantity.
  double largest(const std::string& quantity) const;

 private:
  std::string x_;
  std::vector<Curve> curves_;
  std::vector<std::string> names_, variants_;
};

// A block x, value, error of one quantity along a curve, interrupted where it is not known or `keep` is
// false. Its layers are to be added.
Series block(const Curve& curve, const std::string& x, const std::string& quantity,
             const std::function<bool(const Json&)>& keep = converged);

// Pieces of a gnuplot style: a colour, the i-th kind of dashes, the i-th open marker.
std::string in_colour(const std::string& colour);
std::string dashes(std::size_t i);
std::string marker(std::size_t i);

// The figures. Each throws ContentError if the inputs cannot be drawn together, and returns panels without
// rows where nothing is known.
Figure phase_diagram(const std::vector<Input>& inputs);      // phase.sweep and phase.critical
Figure threshold_lines(const std::vector<Input>& inputs);    // phase.critical
Figure phase_curves(const std::vector<Input>& inputs);       // phase.solve and phase.simulate
Figure finite_size(const std::vector<Input>& inputs);        // phase.simulate and phase.solve
Figure flow_trajectories(const std::vector<Input>& inputs);  // flow.solve and flow.simulate
Figure equal_loss(const std::vector<Input>& inputs);         // flow.solve with at_loss
Figure attention_maps(const std::vector<Input>& inputs);     // flow.simulate with a heatmap
Figure trained_text(const std::vector<Input>& inputs);       // flow.train
Figure attention_spectra(const std::vector<Input>& inputs);  // coupled.solve

}  // namespace qksolve::results
