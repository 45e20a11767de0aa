// A result: what was asked, flat records of what was found, and where it comes from.
#pragma once

#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "qksolve/results/provenance.hpp"

namespace qksolve::results {

struct Result {
  std::string schema;  // "qksolve.<model>.<verb>/<version>"
  Json parameters = Json::object();
  std::vector<Json> records;  // flat objects
  Json summary = Json::object();
  std::optional<std::vector<Json>> trace;
  Provenance provenance;

  Json to_json() const;
};

// Sets record[key] = value; an unknown or non-finite value leaves the key out.
void put(Json& record, const std::string& key, const std::optional<double>& value);

// A file that could not be opened, read or written.
class FileError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file that was read and does not hold what is needed.
class ContentError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The JSON of a result file. Throws FileError if it cannot be read, ContentError if it is not valid JSON or
// not an object with a `schema`.
Json read_result(const std::string& path);

// The place a result goes to: a file, written under a temporary name beside it and renamed when complete, or
// standard output. Opened before the computation, so that an unwritable place is known at once.
class Output {
 public:
  // Empty path: `standard_output`. Throws FileError if the file cannot be created.
  Output(std::string path, std::ostream& standard_output);
  ~Output();  // an output that was not written leaves nothing behind
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Writes once. Throws FileError.
  void write(const Result& result);

 private:
  std::string path_, temporary_;
  std::ostream& standard_output_;
};

}  // namespace qksolve::results
