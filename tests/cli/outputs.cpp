// Where results go: links, modes, full and closed outputs.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "run.hpp"

using namespace qksolve::test;

namespace {

const std::string kQuick = "phase solve --branch uninformed --tolerance 1e-2 --quiet";
const std::string kProgram = std::string(QKSOLVE_BINARY) + " ";

}  // namespace

TEST_CASE("outputs that cannot be written are known before anything is computed") {
  for (const std::string path : {"/nonexistent/directory/x.json", "."}) {
    const Run r = run("phase solve --tolerance 1e-7 --alpha 0.01:5:1000 -o " + path);
    CHECK(r.code == 4);
    CHECK(r.one_line());
    CHECK(r.says(path));
  }
}

TEST_CASE("names that the file system refuses") {
  TemporaryFile loop("loop");
  std::filesystem::remove(loop.path);
  std::filesystem::create_symlink(loop.path, loop.path);
  for (const std::string& path : {loop.path, std::string(300, 'n')})
    for (const std::string option : {" -o ", " --config "}) {
      const Run r = run(kQuick + option + path);
      CHECK(r.code == 4);
      CHECK(r.one_line());
      CHECK(r.says(path.substr(0, 50)));
    }
}

TEST_CASE("a link stays one, also when its target is new; a file keeps its mode") {
  TemporaryFile target("target.json"), link("link.json"), second("second.json");
  for (const TemporaryFile* file : {&link, &second}) std::filesystem::remove(file->path);
  std::filesystem::create_symlink(target.path, link.path);
  std::filesystem::create_symlink(link.path, second.path);
  std::filesystem::permissions(target.path, std::filesystem::perms{0640});
  CHECK(run(kQuick + " -o " + second.path).code == 0);
  CHECK(std::filesystem::is_symlink(second.path));
  CHECK(std::filesystem::is_symlink(link.path));
  CHECK(target.content().size() > 100);
  CHECK(std::filesystem::status(target.path).permissions() == std::filesystem::perms{0640});
  std::filesystem::remove(target.path);
  CHECK(run(kQuick + " -o " + link.path).code == 0);
  CHECK(std::filesystem::is_symlink(link.path));
  CHECK(target.content().size() > 100);
}

TEST_CASE("a name or an argument that is not UTF-8 is no obstacle") {
  TemporaryFile file("\xff.json");
  REQUIRE(run(kQuick + " -o " + file.path).code == 0);
  const auto argv = nlohmann::json::parse(file.content())["provenance"]["argv"];
  CHECK(argv.size() == 10);
  CHECK(argv[0] == "qksolve");
}

TEST_CASE("a standard output that is full, closed or read no further: exit 4") {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  close(pipe_ends[0]);
  REQUIRE(dup2(pipe_ends[1], 9) == 9);  // one digit, for the shell
  close(pipe_ends[1]);
  for (const std::string& arguments : std::vector<std::string>{kQuick, "--help", "--version", "flow --help"})
    for (const std::string place : {"/dev/full", "&-", "&9"}) {
      CAPTURE(arguments);
      CAPTURE(place);
      CHECK(shell(kProgram + arguments + " 2>/dev/null >" + place) == 4);
    }
  close(9);
}

TEST_CASE("with closed standard streams the file holds the result and nothing else") {
  TemporaryFile file("closed.json");
  CHECK(shell(kProgram + "phase solve --branch uninformed --tolerance 1e-2 -o " + file.path +
              " <&- >&- 2>&-") == 0);
  CHECK(nlohmann::json::parse(file.content()).contains("records"));
}

TEST_CASE("a file that may not grow: exit 4, the old one untouched, nothing beside it") {
  TemporaryFile file("quota.json", "old");
  CHECK(shell("sh -c 'ulimit -f 1; exec " + kProgram + "flow solve --quiet -o " + file.path +
              " 2>/dev/null'") == 4);
  CHECK(file.content() == "old");
  for (const auto& entry : std::filesystem::directory_iterator("."))
    CHECK(entry.path().string().find(file.path + ".tmp") == std::string::npos);
}

TEST_CASE("two outputs that are one file through a link, there or not, are refused") {
  TemporaryFile file("one.json"), link("one.csv");
  std::filesystem::remove(link.path);
  std::filesystem::create_symlink(file.path, link.path);
  for (const bool there : {true, false}) {
    if (!there) std::filesystem::remove(file.path);
    const Run r = run(kQuick + " -o " + file.path + " --csv " + link.path);
    CHECK(r.code == 2);
    CHECK(r.one_line());
    CHECK(r.says("--csv"));
  }
  TemporaryFile output("swept.json"), work("swept.json.work.jsonl");
  std::filesystem::remove(work.path);
  std::filesystem::create_symlink(output.path, work.path);
  CHECK(run("phase sweep --alpha 1 --omega 0.3 --tolerance 1e-2 -o " + output.path).says("--output"));
}
