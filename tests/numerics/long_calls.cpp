#include "qksolve/numerics/long_calls.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

using namespace qksolve::numerics;
using Eigen::Index;
using Eigen::MatrixXd;

namespace {

constexpr Index kMany = 1'000'000;  // rows whose columns are long work, one by one

std::vector<Index> blocks(Index rows, Index depth, Index columns) {
  std::vector<Index> widths;
  for_column_blocks(rows, depth, columns, {}, [&](Index first, Index count) {
    Index before = 0;
    for (const Index width : widths) before += width;
    CHECK(first == before);
    widths.push_back(count);
  });
  return widths;
}

}  // namespace

TEST_CASE("small products are one block, blocks of large ones cover the columns and end with the kernel's") {
  CHECK(blocks(100, 100, 100) == std::vector<Index>{100});
  CHECK(blocks(0, 0, 5) == std::vector<Index>{5});
  CHECK(blocks(3, 3, 0).empty());
  const std::vector<Index> widths = blocks(16384, 1024, 1003);
  REQUIRE(widths.size() > 3);
  Index sum = 0;
  for (const Index width : widths) sum += width;
  CHECK(sum == 1003);
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) CHECK(widths[i] % 8 == 0);
  CHECK(widths.back() >= 8);
  CHECK(blocks(kMany, kMany, 17) == std::vector<Index>{8, 9});
}

TEST_CASE("a product by the narrowest blocks is the product to the bit") {
  std::srand(3);
  for (const auto& [rows, depth, columns] :
       {std::tuple<Index, Index, Index>{101, 203, 45}, {64, 64, 64}, {33, 700, 17}, {250, 8, 100}}) {
    const MatrixXd left = MatrixXd::Random(rows, depth), right = MatrixXd::Random(depth, columns);
    const MatrixXd transposed = right.transpose();
    MatrixXd by_blocks(rows, columns), of_transposed(rows, columns);
    for_column_blocks(kMany, kMany, columns, {}, [&](Index first, Index count) {
      by_blocks.middleCols(first, count).noalias() = left * right.middleCols(first, count);
      of_transposed.middleCols(first, count).noalias() =
          left * transposed.transpose().middleCols(first, count);
    });
    CHECK(by_blocks == MatrixXd(left * right));
    CHECK(of_transposed == by_blocks);
    CHECK(product(left, right, {}) == by_blocks);
  }
}

TEST_CASE("blocks are interrupted between two of them") {
  int asked = 0, worked = 0;
  CHECK_THROWS_AS(for_column_blocks(
                      kMany, kMany, 64, [&] { return ++asked == 3; }, [&](Index, Index) { ++worked; }),
                  Interrupted);
  CHECK(worked == 2);
}

TEST_CASE("a call that cannot be split has its result, its exception, or is left behind") {
  CHECK(abandon_if({}, [] { return 7; }) == 7);
  CHECK(abandon_if([] { return false; }, [] { return 7; }) == 7);
  CHECK_THROWS_WITH(abandon_if([] { return false; }, []() -> int { throw std::runtime_error("mine"); }),
                    "mine");
  const auto release = std::make_shared<std::atomic<bool>>(false);
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  CHECK_THROWS_AS(abandon_if([] { return true; },
                             [release, ended] {
                               while (!*release) std::this_thread::yield();
                               *ended = true;
                               return 7;
                             }),
                  Interrupted);
  CHECK_FALSE(*ended);
  *release = true;
  while (!*ended) std::this_thread::yield();
}
