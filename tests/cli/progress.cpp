// What long runs say while they go on.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "run.hpp"

using namespace qksolve::test;

namespace {

const std::string kTwoTasks =
    std::string(QKSOLVE_BINARY) + " phase solve --alpha 1,2 --branch semantic --tolerance 1e-2";

}  // namespace

TEST_CASE("progress on a terminal: tasks done, rate and time left, in one line that changes") {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  const std::string name = ptsname(terminal);
  const int slave = open(name.c_str(), O_RDWR | O_NOCTTY);  // keeps what is written
  REQUIRE(slave >= 0);
  CHECK(shell(kTwoTasks + " >/dev/null 2>" + name) == 0);
  std::string shown(4096, ' ');
  shown.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(terminal, shown.data(), shown.size()))));
  close(slave);
  close(terminal);
  CAPTURE(shown);
  CHECK(shown.find("\r1/2, ") != std::string::npos);
  CHECK(shown.find("/s, 0:00:") != std::string::npos);
  CHECK(shown.find(" left: phase solve: alpha 1, omega 0.3, semantic") != std::string::npos);
}

TEST_CASE("progress in a log: at most a line every ten seconds, whatever was asked for") {
  for (const std::string asked : {"auto", "always", "never"}) {
    TemporaryFile log("progress.log");
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(shell(kTwoTasks + " >/dev/null --progress " + asked + " 2>" + log.path) == 0);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string text = log.content();
    int lines = 0;
    for (std::size_t at = text.find(" left: "); at != std::string::npos; at = text.find(" left: ", at + 1))
      ++lines;
    CHECK(lines <= (asked == "never" ? 0.0 : seconds / 10));
  }
}
