// Laws of the integers and choices, and the independence of rows and streams.
#include "qksolve/numerics/random_integers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "numerics/chi_square.hpp"

using qksolve::numerics::RandomIntegers;
using qksolve::numerics::RandomStream;

namespace {

std::vector<std::uint64_t> first_words(const RandomStream& stream, std::uint64_t row, std::size_t count) {
  RandomIntegers random(stream, row);
  std::vector<std::uint64_t> words(count);
  for (std::uint64_t& word : words) word = random.next();
  return words;
}

}  // namespace

TEST_CASE("integers below a bound are uniform") {
  for (const std::uint64_t bound : {2ULL, 3ULL, 7ULL, 64ULL, 100ULL}) {
    CAPTURE(bound);
    RandomIntegers random({1, 2, 3, 4}, 5);
    std::vector<double> counts(bound);
    for (int i = 0; i < 100000; ++i) {
      const std::uint64_t x = random.below(bound);
      REQUIRE(x < bound);
      ++counts[x];
    }
    CHECK(chi_square_deviations(counts) < 5);
  }
  RandomIntegers random({1, 2, 3, 4}, 5);
  for (int i = 0; i < 10; ++i) CHECK(random.below(1) == 0);
}

TEST_CASE("bounds near the largest have no bias") {
  // Of words modulo 3/4 2^64 without drawing again, the lower third would come up twice as often.
  const std::uint64_t quarter = 1ULL << 62;
  RandomIntegers random({1, 2, 3, 4}, 6);
  std::vector<double> counts(3);
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t x = random.below(3 * quarter);
    REQUIRE(x < 3 * quarter);
    ++counts[x / quarter];
  }
  CHECK(chi_square_deviations(counts) < 5);

  const std::uint64_t largest = ~0ULL;
  std::vector<double> halves(2);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t x = random.below(largest);
    REQUIRE(x < largest);
    ++halves[x >> 63];
    seen.insert(x);
  }
  CHECK(chi_square_deviations(halves) < 5);
  CHECK(seen.size() == 10000);  // a repeat has probability 3e-12
}

TEST_CASE("units lie inside of the interval, and are uniform") {
  RandomIntegers random({1, 2, 3, 4}, 7);
  std::vector<double> counts(50);
  for (int i = 0; i < 100000; ++i) {
    const double x = random.unit();
    REQUIRE(x > 0);
    REQUIRE(x < 1);
    ++counts[static_cast<std::size_t>(50 * x)];
  }
  CHECK(chi_square_deviations(counts) < 5);
}

TEST_CASE("choices have no repeats, and every ordered choice is as likely") {
  RandomIntegers random({1, 2, 3, 4}, 8);
  std::map<std::vector<std::int64_t>, double> counts;
  for (int i = 0; i < 60000; ++i) {
    const auto chosen = random.choose(-2, 3, 3);
    REQUIRE(chosen.size() == 3);
    for (const std::int64_t x : chosen) REQUIRE((x >= -2 && x < 3));
    REQUIRE(std::set(chosen.begin(), chosen.end()).size() == 3);
    ++counts[chosen];
  }
  REQUIRE(counts.size() == 5 * 4 * 3);
  std::vector<double> values;
  for (const auto& [chosen, count] : counts) values.push_back(count);
  CHECK(chi_square_deviations(values) < 5);

  auto all = random.choose(10, 30, 20);
  CHECK(!std::is_sorted(all.begin(), all.end()));  // sorted with probability 1/20!
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < 20; ++i) CHECK(all[i] == 10 + static_cast<std::int64_t>(i));
  CHECK(random.choose(10, 30, 0).empty());
  CHECK(random.choose(10, 11, 1) == std::vector<std::int64_t>{10});
}

TEST_CASE("a shuffle is a permutation, and every one is as likely") {
  RandomIntegers random({1, 2, 3, 4}, 9);
  std::map<std::vector<int>, double> counts;
  for (int i = 0; i < 24000; ++i) {
    std::vector<int> items{1, 2, 3, 4};
    random.shuffle(items);
    ++counts[items];
  }
  std::vector<double> values;
  for (const auto& [items, count] : counts) {
    values.push_back(count);
    CHECK(std::set(items.begin(), items.end()) == std::set{1, 2, 3, 4});
  }
  REQUIRE(values.size() == 24);
  CHECK(chi_square_deviations(values) < 5);

  std::vector<int> none, one{7}, twice{1, 1, 2};
  random.shuffle(none);
  random.shuffle(one);
  random.shuffle(twice);
  CHECK(none.empty());
  CHECK(one == std::vector{7});
  CHECK(std::multiset(twice.begin(), twice.end()) == std::multiset{1, 1, 2});
}

TEST_CASE("a row repeats, and rows and streams share nothing") {
  const RandomStream stream{1, 2, 3, 4};
  const auto words = first_words(stream, 0, 1000);
  CHECK(first_words(stream, 0, 1000) == words);
  std::set<std::uint64_t> seen(words.begin(), words.end());
  CHECK(seen.size() == 1000);
  std::size_t expected = 1000;
  auto add = [&](const RandomStream& other, std::uint64_t row) {
    const auto more = first_words(other, row, 1000);
    seen.insert(more.begin(), more.end());
    expected += 1000;
    CHECK(seen.size() == expected);  // a chance repeat has probability 1e-12
    // Bits of one and the other agree in half of the cases: 64000 of them, 5 standard deviations of 126.
    int equal_bits = 0;
    for (std::size_t i = 0; i < 1000; ++i)
      for (std::uint64_t bits = ~(words[i] ^ more[i]); bits != 0; bits &= bits - 1) ++equal_bits;
    CHECK(std::abs(equal_bits - 32000) < 5 * 127);
  };
  add(stream, 1);
  add(stream, 1ULL << 40);
  add({0, 2, 3, 4}, 0);
  add({1, 0, 3, 4}, 0);
  add({1, 2, 0, 4}, 0);
  add({1, 2, 3, 0}, 0);
}

TEST_CASE("every bit of a word is as often set") {
  RandomIntegers random({5, 0, 0, 0}, 0);
  std::vector<double> set(64);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t word = random.next();
    for (int bit = 0; bit < 64; ++bit)
      set[static_cast<std::size_t>(bit)] += static_cast<double>(word >> bit & 1);
  }
  for (const double count : set) CHECK(std::abs(count - 10000) < 5 * std::sqrt(5000.0));
}
