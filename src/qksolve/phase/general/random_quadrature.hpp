// Randomised quasi-Monte-Carlo quadrature of the state evolution for any number of tokens and any ranks: the
// general method, and the independent second one where the rule that follows the jumps applies. It knows
// nothing about jumps, finds every proximal point by descent from several starts, and its error bars are the
// spread over independent randomisations.
#pragma once

#include <cstdint>

#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/phase/equations/state_evolution.hpp"
#include "qksolve/phase/general/sequence_loss.hpp"

namespace qksolve::phase {

inline constexpr int kRandomLevels =
    7;  // level k: 2^(10 + 2k) points a replicate; fewer levels where memory would pass 1 GB
inline constexpr int kRandomReplicates = 16;

// Coordinates of a sample: L (r + r*) normal deviates. Sobol points are known for so many of them.
inline constexpr int kMostCoordinates = 60;

// A given seed gives the same numbers for any `threads`. The minimum of every node is kept as a start for the
// next evaluation on the same level, so that evaluations are cheaper than the first, and the quadrature of
// one solve is not to be shared by several threads. Throws std::invalid_argument if L (r + r*) >
// kMostCoordinates. Its construction and its evaluations throw numerics::Interrupted.
Quadrature random_quadrature(const Model& model, const SequenceLoss& loss, std::uint64_t seed, int threads,
                             const numerics::Interrupt& interrupted = {});

}  // namespace qksolve::phase
