// The figure that belongs to results.
#pragma once

#include "qksolve/results/figures/inputs.hpp"

namespace qksolve::results {

// Kinds of results that have a figure, as the first of several: "phase.solve", ...
std::vector<std::string> kinds_with_figure();

// The kind of the first result selects the figure; the others are drawn into it. At least one input. Throws
// ContentError, naming the file, if its kind has no figure or cannot be drawn with the first, if it was made
// with another model, is damaged, or if there is nothing to draw.
Figure make_figure(const std::vector<Input>& inputs);

}  // namespace qksolve::results
