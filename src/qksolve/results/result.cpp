#include "qksolve/results/result.hpp"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

namespace qksolve::results {

Json Result::to_json() const {
  Json json;
  json["schema"] = schema;
  json["parameters"] = parameters;
  json["records"] = records;
  json["summary"] = summary;
  if (trace) json["trace"] = *trace;
  json["provenance"] = provenance.to_json();
  return json;
}

void put(Json& record, const std::string& key, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) record[key] = *value;
}

Json read_result(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file || content.fail()) throw FileError("cannot read '" + path + "'");
  Json json = Json::parse(content.str(), nullptr, false);
  if (json.is_discarded()) throw ContentError(path + ": not valid JSON (truncated?)");
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string())
    throw ContentError(path + ": not a result file, expected the key 'schema'");
  return json;
}

Output::Output(std::string path, std::ostream& standard_output)
    : path_(std::move(path)), standard_output_(standard_output) {
  if (path_.empty()) return;
  if (std::filesystem::is_directory(path_))
    throw FileError("cannot write '" + path_ + "': it is a directory");
  // A device or pipe is written directly: a rename would replace it by a file.
  if (std::filesystem::exists(path_) && !std::filesystem::is_regular_file(path_)) return;
  if (std::filesystem::exists(path_) && access(path_.c_str(), W_OK) != 0)
    throw FileError("cannot write '" + path_ + "': " + std::strerror(errno));
  temporary_ = path_ + ".tmp." + std::to_string(getpid());
  std::ofstream file(temporary_);
  const int error = errno;
  if (!file) {
    temporary_.clear();
    throw FileError("cannot write '" + path_ + "': " + std::strerror(error));
  }
}

Output::~Output() {
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void Output::write(const Result& result) {
  const std::string text = result.to_json().dump(2) + "\n";
  if (path_.empty()) {
    standard_output_ << text << std::flush;
    if (!standard_output_) throw FileError("cannot write to standard output");
    return;
  }
  const std::string& target = temporary_.empty() ? path_ : temporary_;
  std::ofstream file(target, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw FileError("cannot write '" + path_ + "': " + std::strerror(errno));
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw FileError("cannot write '" + path_ + "': " + std::strerror(errno));
  temporary_.clear();
}

}  // namespace qksolve::results
