// Small comma-separated tables with a header line and comments, read by tests.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace qksolve::test {

using Row = std::map<std::string, std::string>;

inline std::vector<Row> reference_table(const std::string& name) {
  std::ifstream file(std::string(QKSOLVE_REFERENCE_DIR) + "/" + name);
  if (!file) throw std::runtime_error("no reference table " + name);
  std::vector<std::string> header;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream stream(line);
    std::vector<std::string> fields;
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    if (header.empty()) {
      header = fields;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < fields.size(); ++i) row[header.at(i)] = fields[i];
    rows.push_back(row);
  }
  return rows;
}

inline double number(const Row& row, const std::string& key) { return std::stod(row.at(key)); }

}  // namespace qksolve::test
