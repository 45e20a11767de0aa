// Randomised quasi-Monte-Carlo quadrature of the two-token, rank-one state evolution: the second, independent
// method. It knows nothing about jumps, finds every proximal point by descent from several starts, and its
// error bars are the spread over independent randomisations.
#pragma once

#include <cstdint>

#include "qksolve/phase/state_evolution.hpp"

namespace qksolve::phase {

inline constexpr int kRandomLevels = 7;  // level k: 2^(10 + 2k) points a replicate
inline constexpr int kRandomReplicates = 16;

// Needs is_two_token(model), else std::invalid_argument. A given seed gives the same numbers for any
// `threads`.
Quadrature random_quadrature(const Model& model, std::uint64_t seed, int threads);

}  // namespace qksolve::phase
