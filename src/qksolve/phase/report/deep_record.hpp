// Records of the Bayes-optimal two-layer sequence model.
#pragma once

#include "qksolve/results/result.hpp"

namespace qksolve::results {

// `skip which status value value_error` of alpha2 at skip strength c in [0.05, 100].
Json deep_threshold(double c, double tolerance);

}  // namespace qksolve::results
