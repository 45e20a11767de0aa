// What the fuzz targets share. A target reads any bytes; only the documented exceptions, or exit codes, are
// an answer, everything else ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "commands.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace qksolve::fuzz {

// A regular file in memory: readers that want a path get one, no disk is touched. Throws std::runtime_error.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content = "");
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const;

 private:
  int descriptor_;
};

// Runs `read`. False if it threw UsageError, ContentError or FileError, which must have one line of message;
// other exceptions pass.
bool read_or_refuse(const std::function<void()>& read);

// Runs the program with this one command: all of them take long to set up. Throws std::logic_error unless it
// ends with exit code 0, 2, 3 or 4.
void run_command(const app::Command& command, const std::vector<std::string>& words);

}  // namespace qksolve::fuzz
