// Records of `flow train`, and what they say together.
#pragma once

#include <string>
#include <vector>

#include "qksolve/flow/training/token_measurement.hpp"
#include "qksolve/flow/training/token_training.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::results {

// {"record": ..., "heatmap": [[percent ...] ...]} of a run. `coordinates`: task, parameterization, ratio,
// seed.
Json text_run(const Json& coordinates, const flow::TokenRun& run, const flow::TokenMeasurement& measurement);

// The measured quantities of a record, each with name_error, in its order.
const std::vector<std::string>& text_quantities();

// Of the converged runs:
//   arms         per parameterization and ratio: runs, converged, and the mean of each quantity over seeds
//   with
//                its standard error
//   to_ratio_one paired by seed, with 95 % intervals (_low, _high): each quantity less that at ratio 1
//   collapsed_less_factorized
//                the same of collapsed less factorized output-value at equal attention and ratio
//   slopes       of each quantity against ln ratio over ratios of .1 to 10, fitted seed by seed
//   claims       the claims about faster query-key learning, each with the number that tests it, its interval
//                and a verdict: holds or fails where the interval is on one side, else open
//   attention    per arm the heatmap, averaged over seeds
// `runs`: what text_run gave, in order.
Json summarize_text(const std::vector<Json>& runs);

// Claims from records by arm and seed.
Json text_claims(const std::vector<Json>& records);

}  // namespace qksolve::results
