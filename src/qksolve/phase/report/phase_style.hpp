// What the figures of the positional/semantic model have in common.
#pragma once

#include <string>

#include "qksolve/results/figures/inputs.hpp"

namespace qksolve::results {

inline const std::string kAlphaAxis = "{/:Italic α} = {/:Italic n}/{/:Italic d}", kOmegaAxis = "{/:Italic ω}";

// Room for markers at the ends of the x axis.
inline const std::string kRoom = "set offsets graph 0.03, graph 0.03, 0, 0";

// Of a branch, of the start of a simulation, or of the learner bayes.
inline const std::string& branch_colour(const std::string& name) {
  return name == "semantic"     ? colour::blue
         : name == "positional" ? colour::vermillion
         : name == "uninformed" ? colour::green
         : name == "random"     ? colour::sky
         : name == "bayes"      ? colour::black
                                : colour::purple;
}

// Whether a branch has this overlap: theta is zero on the positional and the uninformed one, m on the
// semantic one.
inline bool has_overlap(const std::string& branch, const std::string& overlap) {
  return branch != "uninformed" && branch != (overlap == "theta" ? "positional" : "semantic");
}

}  // namespace qksolve::results
