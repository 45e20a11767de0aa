#include "qksolve/numerics/task_farm.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <stdexcept>

using namespace qksolve::numerics;

TEST_CASE("every task is done once, on any number of threads, one report at a time") {
  const std::vector<std::size_t> tasks{7, 3, 5, 11, 2};
  for (const int threads : {1, 2, 8}) {
    std::multiset<std::string> found;
    std::atomic<int> inside{0};
    run_tasks(
        tasks, threads, [](std::size_t i) { return std::to_string(i * i); },
        [&](std::size_t i, const std::string& text) {
          CHECK(++inside == 1);
          CHECK(text == std::to_string(i * i));
          found.insert(text);
          --inside;
        },
        {});
    CHECK(found == std::multiset<std::string>{"49", "9", "25", "121", "4"});
  }
}

TEST_CASE("a task that throws ends the run with its exception; an interrupt reports nothing more") {
  int reported = 0;
  const auto fail = [](std::size_t i) -> std::string {
    if (i == 2) throw std::runtime_error("task 2");
    return "x";
  };
  CHECK_THROWS_WITH(
      run_tasks({0, 1, 2, 3}, 1, fail, [&](std::size_t, const std::string&) { ++reported; }, {}), "task 2");
  CHECK(reported == 2);

  bool stop = false;
  reported = 0;
  CHECK_THROWS_AS(run_tasks(
                      {0, 1, 2, 3}, 1,
                      [&](std::size_t i) {
                        stop = i == 1;
                        return std::string("x");
                      },
                      [&](std::size_t, const std::string&) { ++reported; }, [&] { return stop; }),
                  Interrupted);
  CHECK(reported == 1);

  // Where the report fails there is no other, whichever threads are under way.
  std::atomic<int> reports{0};
  const TaskDone full = [&](std::size_t, const std::string&) {
    ++reports;
    throw std::runtime_error("no space");
  };
  const std::vector<std::size_t> many(100);
  CHECK_THROWS_WITH(run_tasks(many, 4, [](std::size_t) { return std::string("x"); }, full, {}), "no space");
  CHECK(reports == 1);
}
