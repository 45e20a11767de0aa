// What the runs of `coupled train` say together: per variant, and against the reference variants seed by
// seed.
#pragma once

#include <vector>

#include "qksolve/results/result.hpp"

namespace qksolve::results {

// A run: its record, and its evaluations in order of steps (flat, `step tokens loss loss_error` and
// `accuracy` or `perplexity` with errors).
struct TrainedModel {
  Json record;
  std::vector<Json> curve;
};

// {"variants": [...]}, flat, one for each variant and number of coupling steps in order of appearance;
// statistics are over the seeds whose run converged:
//   runs, converged (counts), parameter_count
//   loss, loss_error, loss_spread (standard deviation over seeds); likewise accuracy or perplexity
//   recall: solved, solve_rate with its 95 % interval (Clopper & Pearson) solve_rate_low _high;
//   median_steps_to_solve,
//     absent where no more than half of the runs solve it
//   text: tokens_ratio with error, the tokens after which the variant's loss is as low as the standard
//   model's last
//     one with the same seed, over the tokens of the whole run, by interpolation between evaluations, over
//     the seeds where it gets there: reached
//   step_size_1, entropy_1, sigma_ratio_1 ... of the layers, with standard errors
//   variance_ratio: of the loss over seeds against that of `standard`, with the 95 % interval of normal
//   losses against standard and against uncoupled (with the same coupling_steps): mean difference of the last
//   loss of the
//     runs with the same seed and its 95 % interval (Student): difference_to_standard, _low, _high, _pairs;
//     recall: accuracy_difference_to_...; text: perplexity_change_to_..., in percent.
// Error bars, intervals and ratios are absent where there are too few runs.
Json summarize_training(const std::vector<TrainedModel>& runs);

}  // namespace qksolve::results
