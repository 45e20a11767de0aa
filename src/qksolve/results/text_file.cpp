#include "qksolve/results/text_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

namespace qksolve::results {

namespace {

namespace fs = std::filesystem;

// What the temporary names of a file on this host begin with; the rest is PROCESS.RANDOM. Together at most
// 255 bytes.
std::string temporary_prefix(const fs::path& path) {
  constexpr std::size_t kLongestName = 180, kLongestHost = 40;
  std::string name = path.filename();
  std::size_t end = std::min(name.size(), kLongestName);
  while (end < name.size() && end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U)
    --end;  // UTF-8
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::string place(host);
  for (char& c : place)
    if (c == '/') c = '_';
  return name.substr(0, end) + ".tmp." + place.substr(0, kLongestHost) + ".";
}

std::string hexadecimal(std::uint64_t value) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(value >> shift) & 15U];
  return digits;
}

// A process that has ended stays in the table until its parent has looked at it: kill finds it there.
bool is_running(pid_t process) {
  if (kill(process, 0) != 0) return errno != ESRCH;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");  // "PROCESS (NAME) STATE ..."
  std::string line;
  std::getline(file, line);
  const std::size_t state = line.rfind(") ");
  return state == std::string::npos || (line[state + 2] != 'Z' && line[state + 2] != 'X');
}

// Whether PROCESS.RANDOM names a process that does not run any more.
bool is_left_over(const std::string& rest) {
  const std::size_t dot = rest.find('.');
  if (dot == 0 || dot == std::string::npos || dot > 10 || rest.size() != dot + 17) return false;
  if (rest.find_first_not_of("0123456789") != dot ||
      rest.find_first_not_of("0123456789abcdef", dot + 1) != std::string::npos)
    return false;
  const long process = std::strtol(rest.c_str(), nullptr, 10);
  return process > 0 && !is_running(static_cast<pid_t>(process));
}

void remove_left_over(const fs::path& folder, const std::string& prefix) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix) && is_left_over(name.substr(prefix.size())))
      fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

std::string link_target(const std::string& path) {
  fs::path target = path;
  for (int links = 0; links < 40 && fs::is_symlink(target); ++links)
    target = target.parent_path() / fs::read_symlink(target);
  return target;
}

bool same_file(const std::string& a, const std::string& b) {
  const auto normal = [](const std::string& name) {
    return fs::weakly_canonical(fs::absolute(name)).lexically_normal();
  };
  const std::string first = link_target(a), second = link_target(b);
  if (!fs::exists(first) || !fs::exists(second)) return normal(first) == normal(second);
  return fs::is_regular_file(first) && fs::equivalent(first, second);
}

std::string temporary_name(const std::string& path) {
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  const std::string prefix = temporary_prefix(path);
  remove_left_over(folder, prefix);
  std::random_device random;
  const std::uint64_t number = (std::uint64_t{random()} << 32U) | random();
  return folder / (prefix + std::to_string(getpid()) + "." + hexadecimal(number));
}

TextFile::TextFile(const std::string& path) : path_(link_target(path)) {
  if (fs::is_directory(path_)) throw FileError("cannot write '" + path_ + "': it is a directory");
  // A device or pipe is written directly: a rename would replace it by a file.
  if (fs::exists(path_) && !fs::is_regular_file(path_)) return;
  if (fs::exists(path_) && access(path_.c_str(), W_OK) != 0)
    throw FileError("cannot write '" + path_ + "': " + std::strerror(errno));
  std::string temporary = temporary_name(path_);
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) throw FileError("cannot write '" + path_ + "': " + std::strerror(errno));
  close(descriptor);
  temporary_ = std::move(temporary);
  if (fs::exists(path_)) fs::permissions(temporary_, fs::status(path_).permissions());
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
