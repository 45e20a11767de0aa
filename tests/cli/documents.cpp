#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "cli/run.hpp"

using namespace qksolve::test;

namespace {

std::string made(const std::string& kind) {
  const TemporaryFile file("documents_" + kind);
  REQUIRE(shell(QKSOLVE_DOCUMENTS " " + kind + " > " + file.path) == 0);
  return file.content();
}

}  // namespace

TEST_CASE("COMMANDS.md is what the options say") {
  std::ifstream file(QKSOLVE_COMMANDS);
  REQUIRE(file);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == made("markdown"));
}

TEST_CASE("the completions complete commands, options and words") {
  const TemporaryFile file("completion", made("bash") +
                                             "complete_words() {\n"
                                             "  COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=()\n"
                                             "  _qksolve; echo \"${COMPREPLY[*]}\"\n}\n");
  const auto completed = [&](const std::string& words) {
    const TemporaryFile out("completed");
    REQUIRE(shell("bash -c '. ./" + file.path + "; complete_words " + words + "' > " + out.path) == 0);
    return out.content();
  };
  CHECK(completed("qksolve ph") == "phase\n");
  CHECK(completed("qksolve phase so") == "solve\n");
  CHECK(completed("qksolve phase simulate --opt") == "--optimizer\n");
  CHECK(completed("qksolve phase simulate --optimizer lb") == "lbfgs\n");
}

TEST_CASE("the man page has every command") {
  const std::string page = made("man");
  for (const qksolve::app::Command& command : qksolve::app::all_commands().commands)
    CHECK(page.find(".SH \"qksolve " + (command.group.empty() ? "" : command.group + " ") + command.name +
                    "\"") != std::string::npos);
}
