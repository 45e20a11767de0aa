// Whether counts have a law.
#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

// Pearson's chi-square less its mean, in standard deviations: sqrt(2 (cells - 1)) for the many counts in
// every cell that the tests ask for. Weights are proportional to the probabilities.
inline double chi_square_deviations(const std::vector<double>& counts, const std::vector<double>& weights) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  double chi_square = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * weights[i] / weight;
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

inline double chi_square_deviations(const std::vector<double>& counts) {
  return chi_square_deviations(counts, std::vector<double>(counts.size(), 1.0));
}
