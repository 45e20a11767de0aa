// Weak recovery: with S(label) the posterior of a sample's preactivations when nothing is known of the
// teacher, something is learnt from alpha = 1/E|S|^2 on.
#pragma once

#include <functional>

namespace qksolve::phase::bayes {

struct WeakThreshold {
  double alpha, error;
  double norm_error;  // |integral of the density of the label - 1|
  bool converged;     // errors at most tolerance, relative
};

// What a rule gives for the label's posterior at no knowledge.
struct WeakIntegrals {
  double norm = 0;    // of the density of the label: 1
  double excess = 0;  // mean of |E[z z' | label] - I|^2; weak recovery sets in at 1/excess
};

// 1/excess by rules of growing scale, 3 to `largest_scale`, until the change from the rule before is at most
// `tolerance`, relative.
WeakThreshold refined_threshold(const std::function<WeakIntegrals(int scale)>& integrate, int largest_scale,
                                double tolerance);

// For labels of two tokens with observation noise: S_ll = softmax(h h')_ll, l = 1, 2, is seen with
// independent noise of standard deviation s > 0. Noise of variance delta d per entry of y means
//   s^2 = delta/((sigma_1^2 + sigma_2^2) (1 - omega)^2).
// At least 1/6, the limit of small s. Deterministic; the error is the change from a rule with two thirds of
// the nodes in each direction.
WeakThreshold noisy_weak_threshold(double sigma_1, double sigma_2, double s, double tolerance);

// For a teacher of rank r >= 1, two tokens of equal sigma, no noise: r^2/(4 r + 2). The label shows K_11 -
// K_12 and K_22 - K_12 of the Gram matrix K = z z'; given these, K_12 less its smallest value has the law
// Gamma((r - 1)/2), which makes the posterior mean of K explicit.
double weak_threshold_of_rank(int teacher_rank);

}  // namespace qksolve::phase::bayes
