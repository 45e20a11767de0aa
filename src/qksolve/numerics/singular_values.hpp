// The spectrum of a large square matrix: its two leading singular values and how many count.
#pragma once

#include <Eigen/Core>

#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/numerics/random_normals.hpp"

namespace qksolve::numerics {

struct SpectrumSummary {
  double first = 0, second = 0;  // the largest two singular values
  double leading_error = 0;      // bound on the error of both; 0 where all values were computed
  double effective_rank = 0;     // exp of the entropy of s_i/sum_j s_j (Roy & Vetterli 2007)
  // Its errors, 0 likewise: of the truncation, and a standard error of the random start.
  double effective_rank_truncation = 0, effective_rank_spread = 0;
};

inline constexpr Eigen::Index kFullSpectrum = 512;  // all singular values are computed up to this size

// Of A, n x n, n >= 2. Beyond n = `full_up_to` by block Golub-Kahan-Lanczos bidiagonalisation from 8 random
// orthonormal columns (drawn from `stream`), with complete reorthogonalisation: it runs until both leading
// values are known to 1e-6 of themselves, and at least 32 blocks. Its Gauss quadrature gives the sums
// sum s_i, sum s_i log s_i of the effective rank (Golub & Meurant 2010; averaged over the random columns):
// the values that have converged enter as they are, the others in their mean. The result is extrapolated in
// the number of blocks from this number and its half. Throws Interrupted.
SpectrumSummary summarize_spectrum(const Eigen::MatrixXd& A, const RandomStream& stream,
                                   Eigen::Index full_up_to = kFullSpectrum,
                                   const Interrupt& interrupted = {});

}  // namespace qksolve::numerics
