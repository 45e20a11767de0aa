#include "qksolve/numerics/quasi_random.hpp"

#include <boost/math/special_functions/erf.hpp>
#include <boost/random/sobol.hpp>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace qksolve::numerics {

std::uint64_t mix(std::uint64_t key) {
  key += 0x9e3779b97f4a7c15U;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9U;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebU;
  return key ^ (key >> 31);
}

std::vector<double> shifted_sobol_normals(int dimensions, int log2_points, std::uint64_t seed, int replicate,
                                          const Interrupt& interrupted) {
  if (dimensions < 1 || dimensions > 60 || log2_points < 3 || log2_points > 26)
    throw std::invalid_argument("quasi-random points: dimensions or number of points out of range");
  const std::size_t count = std::size_t{1} << log2_points;
  std::vector<std::uint64_t> shift(static_cast<std::size_t>(dimensions));
  for (int k = 0; k < dimensions; ++k)
    shift[k] = mix(mix(mix(seed) + static_cast<std::uint64_t>(replicate)) + static_cast<std::uint64_t>(k));

  std::vector<double> normals(count * static_cast<std::size_t>(dimensions));
  boost::random::sobol engine(static_cast<std::size_t>(dimensions));
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 256 == 0) throw_if(interrupted);
    for (int k = 0; k < dimensions; ++k) {
      // Boost's sequence leaves out the origin; with a power of two of points the last one takes its place,
      // which a shift of the whole set does not notice.
      const std::uint64_t word = (i + 1 < count ? static_cast<std::uint64_t>(engine()) : 0U) ^ shift[k];
      const double uniform = (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;
      normals[static_cast<std::size_t>(k) * count + i] =
          -std::numbers::sqrt2 * boost::math::erfc_inv(2.0 * uniform);
    }
  }
  return normals;
}

}  // namespace qksolve::numerics
