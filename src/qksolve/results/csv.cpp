#include "qksolve/results/csv.hpp"

#include <map>
#include <ostream>

namespace qksolve::results {

namespace {

std::string cell(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string{c};
  return quoted + '"';
}

std::string line(const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) text.append(i > 0 ? "," : "").append(cells[i]);
  return text + '\n';
}

}  // namespace

void write_csv(std::ostream& out, const RecordSource& records) {
  std::vector<std::string> header;
  std::map<std::string, std::size_t> column;
  records([&](const Json& record) {
    for (const auto& [key, value] : record.items())
      if (column.emplace(key, header.size()).second) header.push_back(cell(key));
  });
  if (header.empty()) return;
  out << line(header);
  records([&](const Json& record) {
    std::vector<std::string> cells(header.size());
    for (const auto& [key, value] : record.items()) cells[column.at(key)] = cell(value);
    out << line(cells);
  });
}

}  // namespace qksolve::results
