// Two results of the positional/semantic model side by side: theory against simulation, or two of a kind.
#pragma once

#include <string>
#include <vector>

#include "qksolve/results/result.hpp"

namespace qksolve::results {

struct Comparison {
  // alpha omega branch quantity a a_error b b_error difference sigmas; an error that is not known is absent,
  // and so is sigmas = (b - a)/sqrt(a_error^2 + b_error^2) where it cannot be told.
  std::vector<Json> records;
  // chi_square (sum of sigmas^2), count (of its terms), largest_sigmas, outside (records beyond the limit),
  // only_in_a and only_in_b (points without a partner).
  Json summary;
  bool all_within = true;
};

// `a` and `b` are results of phase solve or phase simulate, joined on (alpha, omega, branch or init). A
// theory contributes its converged records; a simulation its extrapolation to 1/d = 0, or the groups of its
// only d, with control variates where it has them. Throws ContentError, naming file and key, if a result is
// of another kind, lacks something, was made with another sigma, lambda, teacher matrix or another kind of
// model, or shares no point.
Comparison compare_results(const Json& a, const std::string& name_a, const Json& b, const std::string& name_b,
                           double sigmas);

}  // namespace qksolve::results
