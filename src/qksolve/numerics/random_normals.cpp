#include "qksolve/numerics/random_normals.hpp"

#include <Random123/philox.h>

#include <algorithm>

#include "qksolve/numerics/pack.hpp"

namespace qksolve::numerics {

namespace {

using Words [[gnu::vector_size(kLanes * sizeof(std::uint64_t))]] = std::uint64_t;

constexpr std::size_t kBlock = 2 * kLanes;  // deviates made at a time

template <class To, class From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// Uniform on the midpoints (k + 1/2) 2^-52 of the unit interval: never 0 or 1.
Pack uniform(Words words) {
  const Words one_to_two = (words >> 12) | 0x3ff0000000000000ULL;
  return (same_bits<Pack>(one_to_two) - 1.0) + 0x1p-53;
}

// Natural logarithm of positive normal numbers: u = 2^k m with m in [1/sqrt(2), sqrt(2)), and
// log m = 2 artanh((m - 1)/(m + 1)), whose argument is below .172 so that ten terms of the series suffice.
Pack log(Pack u) {
  const Words bits = same_bits<Words>(u);
  Pack m = same_bits<Pack>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  // The exponent as a double: its bits in the low end of 2^52, minus 2^52.
  Pack k = same_bits<Pack>((bits >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
  const Mask large = m > 1.4142135623730951;
  m = select(large, 0.5 * m, m);
  k = select(large, k + 1.0, k);
  const Pack f = (m - 1.0) / (m + 1.0), f2 = f * f;
  Pack series = broadcast(1.0 / 23.0);
  for (int odd = 21; odd >= 1; odd -= 2) series = series * f2 + 1.0 / odd;
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  return k * kLn2 + 2.0 * (f * series);
}

// Cosine and sine of 2 pi turns, turns in [0, 1): reduced exactly to an eighth of a turn, then Taylor series.
void cosine_and_sine(Pack turns, Pack& cosine, Pack& sine) {
  constexpr double kShift = 0x1.8p52, kTwoPi = 0x1.921fb54442d18p2;
  const Pack shifted = 4.0 * turns + kShift;
  const Pack angle = kTwoPi * (turns - 0.25 * (shifted - kShift)), square = angle * angle;
  Pack even = broadcast(1.0), odd = broadcast(1.0);
  for (int k = 16; k >= 2; k -= 2) {
    even = 1.0 - even * square / static_cast<double>(k * (k - 1));
    odd = 1.0 - odd * square / static_cast<double>(k * (k + 1));
  }
  odd *= angle;
  const Words quarter = same_bits<Words>(shifted) & 3ULL;
  const Mask crossed = same_bits<Mask>(quarter & 1ULL) != 0;
  const Pack c = select(crossed, odd, even), s = select(crossed, even, odd);
  cosine = select(same_bits<Mask>((quarter + 1ULL) & 2ULL) != 0, -c, c);
  sine = select(same_bits<Mask>(quarter & 2ULL) != 0, -s, s);
}

}  // namespace

void fill_normals(const RandomStream& stream, std::uint64_t row, double* out, std::size_t count) {
  r123::Philox4x64 generator;
  const r123::Philox4x64::key_type key{{stream.seed, stream.family}};
  for (std::size_t start = 0; start < count; start += kBlock) {
    std::uint64_t words[kBlock];
    for (std::size_t i = 0; i < kBlock; i += 4) {
      const r123::Philox4x64::ctr_type counter{{(start + i) / 4, row, stream.purpose, stream.instance}};
      const r123::Philox4x64::ctr_type random = generator(counter, key);
      std::copy(random.begin(), random.end(), words + i);
    }
    Words first, second;
    __builtin_memcpy(&first, words, sizeof first);
    __builtin_memcpy(&second, words + kLanes, sizeof second);
    Pack cosine, sine;
    cosine_and_sine(uniform(second), cosine, sine);
    const Pack radius = square_root(-2.0 * log(uniform(first)));
    double normals[kBlock];
    store(normals, radius * cosine);
    store(normals + kLanes, radius * sine);
    std::copy_n(normals, std::min(kBlock, count - start), out + start);
  }
}

}  // namespace qksolve::numerics
