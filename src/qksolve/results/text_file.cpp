#include "qksolve/results/text_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace qksolve::results {

namespace {

// The file that a chain of symbolic links leads to, which need not exist.
std::string link_target(std::filesystem::path path) {
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path); ++links)
    path = path.parent_path() / std::filesystem::read_symlink(path);
  return path;
}

}  // namespace

TextFile::TextFile(std::string path) : path_(link_target(std::move(path))) {
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
  if (std::filesystem::exists(path_))
    std::filesystem::permissions(temporary_, std::filesystem::status(path_).permissions());
}

TextFile::TextFile(TextFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

TextFile::~TextFile() {
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void TextFile::write(const std::string& text) {
  write([&](std::ostream& out) { out << text; });
}

void TextFile::write(const std::function<void(std::ostream&)>& content) {
  std::ofstream file(temporary_.empty() ? path_ : temporary_, std::ios::binary);
  content(file);
  file.close();
  if (!file) throw FileError("cannot write '" + path_ + "': " + std::strerror(errno));
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw FileError("cannot write '" + path_ + "': " + std::strerror(errno));
  temporary_.clear();
}

}  // namespace qksolve::results
