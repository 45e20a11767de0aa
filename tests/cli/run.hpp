// Runs the program in this process and collects what it says.
#pragma once

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"

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

// Words separated by single blanks.
inline Run run(const std::string& line) {
  std::istringstream stream(line);
  return run(std::vector<std::string>(std::istream_iterator<std::string>(stream), {}));
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
