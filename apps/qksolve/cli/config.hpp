// The files that --config reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace qksolve::app {

struct Setting {
  std::string key;
  std::string place;                // "FILE", or "FILE: line 3" where lines are known
  std::vector<std::string> values;  // each as it would stand on the command line; several for a list
  std::size_t rows = 0;             // of a list of rows of equal length, which `values` holds row by row
};

struct Config {
  std::vector<Setting> settings;
  bool is_result = false;              // the parameters of a result, else TOML
  std::optional<std::string> lacking;  // of a result that was interrupted: what
};

// `schema`: of the results that are accepted. Throws results::FileError if the file cannot be read,
// UsageError or results::ContentError if it is neither TOML without sections nor such a result.
Config read_config(const std::string& path, const std::string& schema);

}  // namespace qksolve::app
