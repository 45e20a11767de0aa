// A file that is there completely or not at all.
#pragma once

#include <functional>
#include <iosfwd>
#include <stdexcept>
#include <string>

namespace qksolve::results {

// A file that could not be opened, read or written.
class FileError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The file that a chain of symbolic links leads to, which need not exist.
std::string link_target(const std::string& path);

// Whether two names, through links or otherwise, are those of one regular file, which need not exist.
bool same_file(const std::string& a, const std::string& b);

// A new name beside `path`, for what becomes that file when it is complete: it cannot be guessed, tells host
// and process, and is legal for every legal name. Removes what processes of this host that are dead by now
// left under such names. To be created exclusively.
std::string temporary_name(const std::string& path);

// Opened before its content is known, so that an unwritable place is found at once: created under a temporary
// name beside it (temporary_name) and renamed when complete. A link is followed; the mode of a file that is
// replaced is kept. What is not a regular file (a device, a pipe) is written directly.
class TextFile {
 public:
  // Throws FileError if the file cannot be created.
  explicit TextFile(const std::string& path);
  ~TextFile();  // a file that was not written leaves nothing behind
  TextFile(TextFile&& other) noexcept;
  TextFile& operator=(TextFile&&) = delete;

  // Writes once. Throws FileError.
  void write(const std::function<void(std::ostream&)>& content);
  void write(const std::string& text);

 private:
  std::string path_, temporary_;
};

}  // namespace qksolve::results
