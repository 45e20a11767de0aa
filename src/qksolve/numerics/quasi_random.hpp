// Randomised quasi-random points with a normal distribution.
#pragma once

#include <cstdint>
#include <vector>

#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::numerics {

// 2^log2_points points of a Sobol sequence in `dimensions` (1 to 60) dimensions, each coordinate digitally
// shifted by a random word drawn from (seed, replicate, coordinate), mapped to N(0, 1). Coordinate-major: the
// k-th coordinate of point i stands at [k * 2^log2_points + i]. Replicates of one seed are independent; the
// mean over the points of any integrand is unbiased for each of them. log2_points in [3, 26]. Throws
// Interrupted.
std::vector<double> shifted_sobol_normals(int dimensions, int log2_points, std::uint64_t seed, int replicate,
                                          const Interrupt& interrupted = {});

// Steele, Lea & Flood (2014): the finaliser of SplitMix64, a bijection that decorrelates neighbouring keys.
std::uint64_t mix(std::uint64_t key);

}  // namespace qksolve::numerics
