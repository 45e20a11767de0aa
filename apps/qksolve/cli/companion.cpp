#include "cli/companion.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "qksolve/results/text_file.hpp"

namespace qksolve::app {

void become_companion(const std::string& name, const std::vector<std::string>& arguments) {
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  std::vector<char*> words;
  std::string program = path.string();
  std::vector<std::string> owned = arguments;
  words.push_back(program.data());
  for (std::string& word : owned) words.push_back(word.data());
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  if (errno != ENOENT) throw results::FileError("cannot start '" + program + "': " + std::strerror(errno));
}

}  // namespace qksolve::app
