// Runs the program in this process and collects what it says.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "commands.hpp"

namespace qksolve::test {

struct Run {
  int code;
  std::string out, err;

  nlohmann::ordered_json json() const { return nlohmann::ordered_json::parse(out); }
  // Exactly one line.
  bool one_line() const { return !err.empty() && err.find('\n') == err.size() - 1; }
  bool says(const std::string& text) const { return err.find(text) != std::string::npos; }
};

inline Run run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "qksolve");
  std::ostringstream out, err;
  const int code = app::run_program(arguments, out, err);
  return {code, out.str(), err.str()};
}

// Separated by blanks.
inline std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

inline Run run(const std::string& line) { return run(words(line)); }

// A command of the shell: for what depends on the environment, with the program as a process of its own.
// Returns the exit code.
inline int shell(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A file in the test's working directory, removed at the end.
struct TemporaryFile {
  std::string path;

  explicit TemporaryFile(const std::string& name, const std::string& content = "") : path("test_" + name) {
    std::ofstream(path) << content;
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string content() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

}  // namespace qksolve::test
