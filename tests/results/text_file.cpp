#include "qksolve/results/text_file.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace qksolve::results;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = "test_text_file";
  Folder() {
    fs::remove_all(path);
    fs::create_directory(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return path / name; }
  std::ptrdiff_t count() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
};

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What a process leaves that ends while it holds the file open. Unless `awaited` it stays in the table of processes;
// the caller waits for it.
pid_t leave_over(const std::string& path, bool awaited = true) {
  const pid_t child = fork();
  if (child == 0) {
    const TextFile file(path);
    _exit(0);  // without destructors
  }
  siginfo_t ended;
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | (awaited ? 0 : WNOWAIT));
  return child;
}

}  // namespace

TEST_CASE("temporary names cannot be guessed, are different each time and legal for the longest names") {
  const Folder folder;
  const std::string a = temporary_name(folder.file("x.json")), b = temporary_name(folder.file("x.json"));
  CHECK(a != b);
  CHECK(a.starts_with(folder.file("x.json.tmp.")));
  CHECK(a.find(std::string(".").append(std::to_string(getpid())) + ".") != std::string::npos);
  for (const std::string& name : {std::string(255, 'n'), std::string(250, 'n') + ".json"}) {
    TextFile file(folder.file(name));
    CHECK(folder.count() == 1);
    file.write("text");
    CHECK(content(folder.file(name)) == "text");
    fs::remove(folder.file(name));
  }
}

TEST_CASE("the next run removes what dead processes left, and nothing else") {
  const Folder folder;
  leave_over(folder.file("x.json"));
  REQUIRE(folder.count() == 1);
  const TextFile alive(folder.file("x.json"));  // removes it, and has one of its own
  CHECK(folder.count() == 1);
  const pid_t zombie = leave_over(folder.file("x.json"), false);
  REQUIRE(folder.count() == 2);
  { const TextFile again(folder.file("x.json")); }
  CHECK(folder.count() == 1);
  waitpid(zombie, nullptr, 0);
  leave_over(folder.file("other.json"));
  for (const std::string name : {"x.json.tmp", "x.json.tmp.1", "x.json.tmp.elsewhere.99999.0123456789abcdef"})
    std::ofstream(folder.file(name)) << "foreign";
  REQUIRE(folder.count() == 5);
  TextFile(folder.file("x.json")).write("new");
  CHECK(folder.count() == 6);
  CHECK(content(folder.file("x.json")) == "new");
}

TEST_CASE("two names are one file through links of both kinds, there or not") {
  const Folder folder;
  std::ofstream(folder.file("file")) << "x";
  fs::create_symlink("file", folder.file("link"));
  fs::create_hard_link(folder.file("file"), folder.file("hard"));
  fs::create_symlink("new", folder.file("to_new"));
  CHECK(same_file(folder.file("file"), folder.file("link")));
  CHECK(same_file(folder.file("hard"), folder.file("link")));
  CHECK(same_file(folder.file("new"), folder.file("to_new")));
  CHECK(same_file(folder.file("to_new"), folder.file("new")));
  CHECK_FALSE(same_file(folder.file("file"), folder.file("new")));
  CHECK_FALSE(same_file("/dev/null", "/dev/null"));
}
