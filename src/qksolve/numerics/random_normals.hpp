// Normal deviates from a counter-based generator: any deviate can be had without drawing those before it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qksolve::numerics {

// What a stream of deviates belongs to. Streams that differ in any member are independent.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t family = 0;    // for instance the dimension
  std::uint64_t instance = 0;  // of the experiment
  std::uint64_t purpose = 0;   // data, teacher, test samples, ...
};

// Writes deviates 0 .. count - 1 of row `row` of the stream, N(0, 1), to `out`. A row begins with the same
// deviates whatever `count`. Philox-4x64-10 (Salmon et al. 2011) with key (seed, family) and counter (block,
// row, purpose, instance), then Box-Muller with logarithm, sine and cosine of our own: only IEEE arithmetic
// enters, so the bits are those of any machine and library.
void fill_normals(const RandomStream& stream, std::uint64_t row, double* out, std::size_t count);

}  // namespace qksolve::numerics
