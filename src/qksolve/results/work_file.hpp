// The work file of a long run: what its tasks found, written as they finish, so that a run that was killed
// can be resumed. JSON Lines: a header that says which run the file belongs to, then one line per finished
// task, each with a checksum.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "qksolve/results/result.hpp"

namespace qksolve::results {

// Identity of a task: 16 hexadecimal digits that depend on everything in `definition`.
std::string task_id(const Json& definition);

// A work file that is read. Throws FileError if it cannot be opened, ContentError, with the number of the
// line, where it is damaged. A last line without its end, as a killed program leaves it, is not damage.
class WorkFileReader {
 public:
  explicit WorkFileReader(const std::string& path);

  const std::string& path() const { return path_; }
  const Json& header() const { return header_; }  // null if the file holds no complete line
  bool contains(const std::string& task) const { return lines_.contains(task); }
  std::size_t size() const { return lines_.size(); }
  // The value of a finished task, read from the file. Throws as the constructor.
  Json value(const std::string& task);
  // Bytes up to the end of the last complete line, and what follows it.
  std::uint64_t complete_bytes() const { return complete_; }
  const std::string& rest() const { return rest_; }
  // The finished tasks in the order of the file.
  std::vector<std::string> tasks() const;

 private:
  struct Line {
    std::uint64_t offset, length, number;
  };
  std::string path_, rest_;
  std::ifstream file_;
  Json header_;
  std::map<std::string, Line> lines_;
  std::uint64_t complete_ = 0;
};

// Throws ContentError that names the first difference if a file's header is not the one expected.
void require_header(const std::string& path, const Json& found, const Json& expected);

// A work file that is continued, or begun. Locked while open.
class WorkFile {
 public:
  // Throws FileError if the file cannot be opened or another program holds it, ContentError if it is damaged
  // or has another header. Takes a half-written last line away.
  WorkFile(const std::string& path, const Json& header);
  ~WorkFile();
  WorkFile(const WorkFile&) = delete;
  WorkFile& operator=(const WorkFile&) = delete;

  bool contains(const std::string& task) const { return finished_.contains(task); }
  std::size_t size() const { return finished_.size(); }
  bool repaired() const { return repaired_; }  // a half-written last line was found
  // Appends a task that has finished, in one write. Throws FileError.
  void add(const std::string& task, const Json& value);

 private:
  std::string path_;
  int descriptor_ = -1;
  bool repaired_ = false;
  std::map<std::string, bool> finished_;
};

}  // namespace qksolve::results
