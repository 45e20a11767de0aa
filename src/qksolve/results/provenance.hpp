// Where a result comes from. Everything that may differ between two runs of the same computation is collected
// here.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace qksolve::results {

using Json = nlohmann::ordered_json;

const char* version();     // of the program, as in CMakeLists.txt
const char* git_commit();  // abbreviated, with "-dirty" for local changes; "unknown" outside a checkout

struct Provenance {
  std::vector<std::string> argv;
  std::uint64_t seed = 0;
  int threads = 1;
  std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
  std::map<std::string, std::string> further_libraries;  // name and version
  Json measurements;                                     // of speed, where they belong to the result

  // version, git commit, compiler, library versions, argv, seed, threads, started (UTC), wall_seconds up to
  // now, measurements if there are any.
  Json to_json() const;
};

}  // namespace qksolve::results
