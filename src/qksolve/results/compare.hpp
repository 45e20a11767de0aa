// Two results side by side: theory against simulation, or two of a kind.
#pragma once

#include <string>
#include <vector>

#include "qksolve/results/result.hpp"

namespace qksolve::results {

struct Comparison {
  std::vector<std::string> coordinates;  // the keys that say where a record belongs
  // The coordinates, then quantity a a_error b b_error difference sigmas; an error that is not known is
  // absent, and so is sigmas = (b - a)/sqrt(a_error^2 + b_error^2) where it cannot be told.
  std::vector<Json> records;
  // chi_square (sum of sigmas^2), count (of its terms), largest_sigmas, outside (records beyond the limit),
  // only_in_a and only_in_b (points without a partner).
  Json summary;
  // At least one difference could be measured in errors, or is zero, and none is beyond the limit.
  bool all_within = true;
};

// What is compared, and on which coordinates the records of `a` and `b` are joined:
//   phase solve, phase sweep, phase simulate: losses and overlaps on (alpha, omega, branch or init). A theory
//     contributes its converged records; a simulation its extrapolation to 1/d = 0, or the groups of its only
//     d in the form of the limit (train_loss_limit, gen_error_limit), with control variates where it has
//     them.
//   phase critical, phase simulate: thresholds on (omega, which); a simulation's crossings stand for alpha_c.
//   flow solve, flow simulate: u, beta, p, margin and loss on (parameterization, ratio, t).
// Throws ContentError, naming file and key, if a result is of another kind, lacks something, holds an error
// below zero or a number beyond 1e100, was made with another model (for phase sigma, lambda, teacher matrix,
// tokens, ranks and encodings), or shares no point.
Comparison compare_results(const Json& a, const std::string& name_a, const Json& b, const std::string& name_b,
                           double sigmas);

}  // namespace qksolve::results
