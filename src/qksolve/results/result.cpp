#include "qksolve/results/result.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>

#include "qksolve/results/csv.hpp"

namespace qksolve::results {

namespace {

constexpr std::size_t kLargestPipe = std::size_t{1} << 26;
constexpr int kDeepestJson = 100;  // far from where recursion would exhaust the stack

// A value as nlohmann::json prints it with two blanks an indentation, at a depth of `depth`.
std::string indented(const Json& json, std::size_t depth) {
  std::string text;
  for (const char c : json.dump(2, ' ', false, Json::error_handler_t::replace)) {
    text += c;
    if (c == '\n') text.append(2 * depth, ' ');
  }
  return text;
}

void write_json(std::ostream& out, const Result& result, const RecordSource& records) {
  auto member = [&](const char* key, const Json& value) {
    out << ",\n  \"" << key << "\": " << indented(value, 1);
  };
  out << "{\n  \"schema\": " << Json(result.schema);
  member("parameters", result.parameters);
  out << ",\n  \"records\": [";
  bool first = true;
  records([&](const Json& record) {
    out << (first ? "\n    " : ",\n    ") << indented(record, 2);
    first = false;
  });
  out << (first ? "]" : "\n  ]");
  member("summary", result.summary);
  if (result.trace) member("trace", *result.trace);
  member("provenance", result.provenance.to_json());
  out << "\n}\n";
}

}  // namespace

void put(Json& record, const std::string& key, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) record[key] = *value;
}

std::string read_file(const std::string& path) {
  auto fail = [&](const std::string& why) { throw FileError("cannot read '" + path + "': " + why); };
  if (std::filesystem::is_directory(path)) fail("it is a directory");
  const bool ends = std::filesystem::is_regular_file(path);  // a device or pipe may never
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::strerror(errno));
  std::string text;
  std::vector<char> block(std::size_t{1} << 20);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
    if (!ends && text.size() > kLargestPipe) fail("it does not end");
  }
  if (file.bad()) fail(std::strerror(errno));
  return text;
}

Json parse_result(const std::string& path, const std::string& text) {
  std::vector<std::set<std::string>> keys;  // of the objects around the place that is read
  std::string repeated;
  auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kDeepestJson) throw ContentError(path + ": lists or objects are nested too deeply");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      repeated = value.get<std::string>();
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    throw ContentError(path + ": line " + std::to_string(1 + std::count(text.begin(), end, '\n')) +
                       " is not valid JSON (truncated?)");
  } catch (const Json::out_of_range&) {
    throw ContentError(path + ": not valid JSON, a number is out of range");
  }
  if (!repeated.empty()) throw ContentError(path + ": the key '" + repeated + "' is given twice");
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string())
    throw ContentError(path + ": not a result file, expected the key 'schema'");
  return json;
}

Json read_result(const std::string& path) { return parse_result(path, read_file(path)); }

Output::Output(const std::string& path, std::ostream& standard_output, const std::string& csv_path)
    : standard_output_(standard_output) {
  if (!path.empty()) file_.emplace(path);
  if (!csv_path.empty()) csv_.emplace(csv_path);
}

void Output::write(const Result& result, const RecordSource& records) {
  const RecordSource own = [&](const std::function<void(const Json&)>& emit) {
    for (const Json& record : result.records) emit(record);
  };
  const RecordSource& source = records ? records : own;
  if (csv_) csv_->write([&](std::ostream& out) { write_csv(out, source); });
  if (file_) return file_->write([&](std::ostream& out) { write_json(out, result, source); });
  write_json(standard_output_, result, source);
  standard_output_ << std::flush;
  if (!standard_output_) throw FileError("cannot write to standard output");
}

}  // namespace qksolve::results
