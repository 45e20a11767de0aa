#include "qksolve/results/result.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "qksolve/results/csv.hpp"
#include "qksolve/results/json_text.hpp"

namespace qksolve::results {

namespace {

constexpr std::size_t kLargestPipe = std::size_t{1} << 26;

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
  if (!result.missing.empty()) {
    member("complete", false);
    member("missing", result.missing);
  }
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

bool begins_work_file(std::string_view text) { return text.starts_with("{\"task\":"); }

Json parse_result(const std::string& path, const std::string& text) {
  if (begins_work_file(text))
    throw ContentError(path + ": is the work file of a run, expected a result (its command goes on from it)");
  Json json = parse_json(
      path, text,
      {"schema", "complete", "missing", "parameters", "records", "summary", "trace", "provenance"});
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string())
    throw ContentError(path + ": not a result file, expected the key 'schema'");
  if (json.contains("complete") && !json["complete"].is_boolean())
    throw ContentError(path + ": key 'complete' is " + json["complete"].dump() + ", expected true or false");
  const Json missing = json.value("missing", Json::array());
  if (!missing.is_array() ||
      !std::all_of(missing.begin(), missing.end(), [](const Json& name) { return name.is_string(); }))
    throw ContentError(path + ": key 'missing' is of another kind, expected a list of names");
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
  const auto content = [&](std::ostream& out) { write_json(out, result, source); };
  std::exception_ptr failure;
  try {
    if (file_) {
      file_->write(content);
    } else {
      content(standard_output_);
      standard_output_ << std::flush;
      if (!standard_output_) throw FileError("cannot write to standard output");
    }
  } catch (const FileError&) {
    failure = std::current_exception();
  }
  if (csv_) csv_->write([&](std::ostream& out) { write_csv(out, source); });
  if (failure) std::rethrow_exception(failure);
}

std::string missing_parts(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 6;
  std::string text =
      std::to_string(names.size()) + (names.size() == 1 ? " part is missing: " : " parts are missing: ");
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? "; " : "") + names[i];
  return text + (names.size() > kShown ? "; ..." : "");
}

std::optional<std::string> incompleteness(const Json& result) {
  const auto names = result.value("missing", std::vector<std::string>());
  if (result.value("complete", true) && names.empty()) return std::nullopt;
  return names.empty() ? "it is incomplete" : missing_parts(names);
}

}  // namespace qksolve::results
