// Integers and choices from a counter-based generator: any row of a stream can be had without those before
// it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "qksolve/numerics/random_normals.hpp"

namespace qksolve::numerics {

// Uniform draws from one row of a stream, Philox-4x64-10 as in random_normals.hpp. Integers have the same
// bits on any machine and library. Do not use one stream for both integers and normals.
class RandomIntegers {
 public:
  RandomIntegers(const RandomStream& stream, std::uint64_t row) : stream_(stream), row_(row) {}

  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound);  // in [0, bound), bound >= 1, without bias
  double unit();                             // in (0, 1)

  // `count` different ones of the integers in [first, end), in random order; count <= end - first.
  std::vector<std::int64_t> choose(std::int64_t first, std::int64_t end, std::size_t count);
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  RandomStream stream_;
  std::uint64_t row_, block_ = 0;
  std::uint64_t words_[4] = {};
  int left_ = 0;
};

}  // namespace qksolve::numerics
