// A result: what was asked, flat records of what was found, and where it comes from.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "qksolve/results/provenance.hpp"
#include "qksolve/results/text_file.hpp"

namespace qksolve::results {

struct Result {
  std::string schema;  // "qksolve.<model>.<verb>/<version>"
  Json parameters = Json::object();
  std::vector<Json> records;  // flat objects
  Json summary = Json::object();
  std::optional<std::vector<Json>> trace;
  // Names of the parts that an interruption left out: with them the file says "complete": false, without,
  // nothing.
  std::vector<std::string> missing;
  Provenance provenance;
};

// Emits records one by one, so that they need not all be in memory, and then sets what depends on them.
using RecordSource = std::function<void(const std::function<void(const Json&)>& emit)>;

// Sets record[key] = value; an unknown or non-finite value leaves the key out.
void put(Json& record, const std::string& key, const std::optional<double>& value);

// A file that was read and does not hold what is needed.
class ContentError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a file holds. Throws FileError if it cannot be read or does not end.
std::string read_file(const std::string& path);

// Whether a file that begins with this text is the work file of a run, which is no result.
bool begins_work_file(std::string_view text);

// The JSON of a result file. Throws ContentError, with `path` as the file's name, as parse_json
// (json_text.hpp), or if it is not a result: an object with a `schema`, and no other keys than those of a
// result.
Json parse_result(const std::string& path, const std::string& text);
Json read_result(const std::string& path);

// "3 parts are missing: ...", the first few of them by name. At least one.
std::string missing_parts(const std::vector<std::string>& names);

// What a result that was interrupted lacks, in words; nothing for a complete one.
std::optional<std::string> incompleteness(const Json& result);

// The places a result goes to: a file or standard output, and its records as CSV to another file if wanted.
// Opened before the computation, so that an unwritable place is known at once.
class Output {
 public:
  // Empty path: `standard_output`; empty csv_path: no CSV. Throws FileError if a file cannot be created.
  Output(const std::string& path, std::ostream& standard_output, const std::string& csv_path = "");

  // Writes once: the JSON and then the CSV, neither of which is lost where the other cannot be written.
  // Throws FileError. With `records`, these are written in place of result.records; the summary is read after
  // they were emitted; they may be emitted several times.
  void write(const Result& result, const RecordSource& records = {});

 private:
  std::optional<TextFile> file_, csv_;
  std::ostream& standard_output_;
};

}  // namespace qksolve::results
