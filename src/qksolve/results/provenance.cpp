#include "qksolve/results/provenance.hpp"

#include <Eigen/Core>
#include <boost/version.hpp>
#include <ctime>

namespace qksolve::results {

Json Provenance::to_json() const {
  const std::time_t start = std::chrono::system_clock::to_time_t(started);
  std::tm utc{};
  gmtime_r(&start, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  auto dotted = [](int a, int b, int c) {
    return std::to_string(a) + "." + std::to_string(b) + "." + std::to_string(c);
  };
  Json libraries;
  libraries["eigen"] = dotted(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  libraries["boost"] = dotted(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100);
  libraries["nlohmann_json"] =
      dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH);
  for (const auto& [name, number] : further_libraries) libraries[name] = number;
  Json json;
  json["version"] = version();
  json["git_commit"] = git_commit();
#ifdef __clang__
  json["compiler"] = std::string("clang ") + __clang_version__;
#else
  json["compiler"] = std::string("gcc ") + __VERSION__;
#endif
  json["libraries"] = libraries;
  json["argv"] = argv;
  json["seed"] = seed;
  json["threads"] = threads;
  json["started"] = text;
  json["wall_seconds"] = std::chrono::duration<double>(std::chrono::system_clock::now() - started).count();
  if (!measurements.is_null()) json["measurements"] = measurements;
  return json;
}

}  // namespace qksolve::results
