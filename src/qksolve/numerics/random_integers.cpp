#include "qksolve/numerics/random_integers.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <numeric>

namespace qksolve::numerics {

std::uint64_t RandomIntegers::next() {
  if (left_ == 0) {
    const auto words = r123::Philox4x64()({{block_++, row_, stream_.purpose, stream_.instance}},
                                          {{stream_.seed, stream_.family}});
    std::copy_n(words.begin(), 4, words_);
    left_ = 4;
  }
  return words_[4 - left_--];
}

std::uint64_t RandomIntegers::below(std::uint64_t bound) {
  // What is left over where 2^64 is not a multiple of the bound is drawn again.
  const std::uint64_t left_over = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t word = next();
    if (word >= left_over) return word % bound;
  }
}

double RandomIntegers::unit() { return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52; }

std::vector<std::int64_t> RandomIntegers::choose(std::int64_t first, std::int64_t end, std::size_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(end - first));
  std::iota(all.begin(), all.end(), first);
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + below(all.size() - i)]);
  all.resize(count);
  return all;
}

}  // namespace qksolve::numerics
