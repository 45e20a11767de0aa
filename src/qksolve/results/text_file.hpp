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

// Opened before its content is known, so that an unwritable place is found at once: created under a temporary
// name beside it and renamed when complete. A link is followed; the mode of a file that is replaced is kept.
// What is not a regular file (a device, a pipe) is written directly.
class TextFile {
 public:
  // Throws FileError if the file cannot be created.
  explicit TextFile(std::string path);
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
