// What the tests of the readers share.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "qksolve/data/annotated/annotated.hpp"

namespace qksolve::test {

inline std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string reference(const std::string& name) {
  return read_all(std::string(QKSOLVE_REFERENCE_DIR) + "/annotated/" + name);
}

// A part of the folder that apps/download_corpora.sh makes, which the environment variable QKSOLVE_CORPORA
// names; empty if it is not there.
inline std::string corpus(const std::string& name) {
  const char* folder = std::getenv("QKSOLVE_CORPORA");
  const std::string path = std::string(folder == nullptr ? "" : folder) + "/" + name;
  return folder != nullptr && std::filesystem::exists(path) ? path : "";
}

inline std::vector<std::string> strings(const training::Names& names,
                                        const std::vector<std::int32_t>& numbers) {
  std::vector<std::string> found;
  for (const std::int32_t number : numbers) found.push_back(names[number]);
  return found;
}

// The message of the TextError that f throws.
template <class F>
std::string text_error(const F& f) {
  try {
    f();
  } catch (const training::TextError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace qksolve::test
