#include "qksolve/numerics/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

using namespace qksolve::numerics;

TEST_CASE("every index is worked on once, on any number of threads and in any blocks") {
  for (const int threads : {1, 2, 7})
    for (const std::ptrdiff_t block : {1, 3, 100}) {
      std::vector<int> visits(50);
      parallel_for(50, threads, block, [&] { return [&](std::ptrdiff_t i) { ++visits[i]; }; });
      CHECK(visits == std::vector<int>(50, 1));
    }
}

TEST_CASE("what a worker throws on any thread is thrown to the caller, when all threads have stopped") {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> inside{0}, finished{0};
  std::atomic<bool> thrown{false};
  const auto worker = [&](std::ptrdiff_t) {
    ++inside;
    if (std::this_thread::get_id() != caller) {
      --inside;
      thrown = true;
      throw std::runtime_error("on the second thread");
    }
    while (!thrown) std::this_thread::yield();
    --inside;
    ++finished;
  };
  CHECK_THROWS_WITH(parallel_for(1'000'000'000, 2, 1, [&] { return worker; }), "on the second thread");
  CHECK(inside == 0);
  CHECK(finished < 1'000'000'000);

  // Where several throw, the first; a worker that cannot be made counts, too.
  CHECK_THROWS_WITH(
      parallel_for(100, 1, 10,
                   [] { return [](std::ptrdiff_t i) { throw std::runtime_error(std::to_string(i)); }; }),
      "0");
  const auto make = []() -> void (*)(std::ptrdiff_t) { throw std::runtime_error("none"); };
  CHECK_THROWS_WITH(parallel_for(1, 3, 1, make), "none");
}

TEST_CASE("an interrupt stops a loop that is not all begun, and is nothing to one that is") {
  for (const int threads : {1, 2}) {
    std::atomic<bool> stop{false};
    std::atomic<int> done{0};
    const auto make = [&] {
      return [&](std::ptrdiff_t) {
        if (++done == 5) stop = true;
      };
    };
    CHECK_THROWS_AS(parallel_for(1'000'000'000, threads, 1, make, [&] { return stop.load(); }), Interrupted);
    CHECK(done >= 5);
  }
  bool stop = false;
  CHECK_NOTHROW(parallel_for(
      3, 1, 1, [&] { return [&](std::ptrdiff_t i) { stop = i == 2; }; }, [&] { return stop; }));
}
