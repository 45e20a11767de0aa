#include "fuzz/target.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <sstream>
#include <stdexcept>

#include "cli/usage.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::fuzz {

MemoryFile::MemoryFile(const std::string& content) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
  if (descriptor_ < 0 ||
      write(descriptor_, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    throw std::runtime_error("no file in memory");
}

MemoryFile::~MemoryFile() { close(descriptor_); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

bool read_or_refuse(const std::function<void()>& read) {
  std::string message;
  try {
    read();
    return true;
  } catch (const app::UsageError& error) {
    message = error.what();
  } catch (const results::ContentError& error) {
    message = error.what();
  } catch (const results::FileError& error) {
    message = error.what();
  }
  if (message.empty()) throw std::logic_error("refused without a word");
  return false;
}

void run_command(const app::Command& command, const std::vector<std::string>& words) {
  std::vector<std::string> argv{"qksolve"};
  argv.insert(argv.end(), words.begin(), words.end());
  std::ostringstream out, err;
  const int code = app::run_commands(argv, out, err, {app::all_commands().groups, {command}});
  if (code != app::kDone && code != app::kUsage && code != app::kNotConverged && code != app::kFile)
    throw std::logic_error("exit code " + std::to_string(code) + ": " + err.str());
}

}  // namespace qksolve::fuzz
