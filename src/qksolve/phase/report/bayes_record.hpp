// Records of the Bayes-optimal limit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "qksolve/phase/equations/bayes_optimal/prediction.hpp"
#include "qksolve/phase/model.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::results {

// What `phase solve --learner bayes` finds at one alpha, at omega = 0. Other omega only scale the errors of
// prediction, by (1 - omega)^2.
struct BayesPoint {
  double alpha;
  phase::bayes::Solution solution;
  phase::bayes::Prediction prediction, baseline;
};

// `alpha omega learner status q mse free_entropy gen_error gen_error_linear` and `_error`; omega in [0, 1).
// `free_entropy` is absent where it is infinite. Not `converged` where an error is larger than the relative
// `tolerance`.
Json bayes_record(const BayesPoint& point, double omega, double tolerance);

// Thresholds of the limit by name: alpha_weak, alpha_it, alpha_algorithmic, alpha_linear_algebra, and where
// the error of prediction becomes smaller than another: alpha_baseline, than that of the linear baseline,
// which is alpha_weak; alpha_erm, than that of the minimum of the empirical risk at a given number of
// samples.
const std::vector<std::string>& bayes_threshold_names();
inline const std::string kAlphaErm = "alpha_erm";

// `omega which status value value_error` of one of them other than alpha_erm, for tokens in [2, 64].
Json bayes_threshold(const std::string& which, double omega, int tokens);

// Noise of variance delta d per entry of y, as the standard deviation with which S_11 and S_22 of two tokens
// are seen (weak_threshold.hpp); omega < 1.
double attention_noise(const phase::Model& model, double delta);
inline constexpr double kLeastAttentionNoise = 0.01;  // below, but for 0, the integrals take minutes

// alpha_weak of two tokens with noise and a teacher of rank one, or without noise, equal sigma and any rank.
Json bayes_weak_threshold(const phase::Model& model, double delta, double tolerance);

// The same for alpha_erm, with `branch`, given the records of all branches at one alpha and omega < 1.
Json bayes_erm_threshold(std::vector<Json> branches, double omega, const phase::bayes::Predictor& predictor);

// The limit beside the records of other learners at the same points.
class BesideBayes {
 public:
  // From the parameters of their result: alpha, sigma, tokens, teacher_rank, tolerance, seed. Nothing is
  // known of teachers of rank two and more.
  explicit BesideBayes(const Json& parameters);

  // To a converged record: `gen_error_bayes`, the error of the best prediction from as many samples, and, for
  // two tokens, `efficiency`, the share of the samples that the best learner needs for the record's own
  // gen_error; each with its error. Nothing at omega = 1.
  void add_to(Json& record) const;

  // alpha_weak and alpha_it at one omega; none at omega = 1.
  std::vector<Json> lines(double omega) const;

 private:
  int tokens_;
  bool known_;
  std::optional<phase::bayes::Predictor> predictor_;
  std::map<double, phase::bayes::Prediction> at_alpha_;
};

}  // namespace qksolve::results
