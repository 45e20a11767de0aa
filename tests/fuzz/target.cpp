#include "fuzz/target.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "cli/run.hpp"
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

void run_program(const std::vector<std::string>& words) {
  const test::Run run = test::run(words);
  if (run.code != app::kDone && run.code != app::kUsage && run.code != app::kNotConverged &&
      run.code != app::kFile)
    throw std::logic_error("exit code " + std::to_string(run.code) + ": " + run.err);
}

}  // namespace qksolve::fuzz
