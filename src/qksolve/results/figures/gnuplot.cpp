#include "qksolve/results/figures/gnuplot.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "qksolve/results/text_file.hpp"

extern char** environ;

namespace qksolve::results {

namespace {

namespace fs = std::filesystem;

// Returns its warnings. Throws GnuplotError.
std::string run_gnuplot(const std::string& folder, const std::string& script) {
  const std::string messages = "messages";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::string program = "gnuplot", argument = script;
  char* const argv[] = {program.data(), argument.data(), nullptr};
  pid_t process = 0;
  const int error = posix_spawnp(&process, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT)
    throw GnuplotError(
        "gnuplot is not installed; it is in the Debian package gnuplot-nox (apt-get install gnuplot-nox)");
  if (error != 0) throw GnuplotError(std::string("gnuplot cannot be run: ") + std::strerror(error));
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  // It repeats the command above a message.
  std::ifstream file(fs::path(folder) / messages);
  std::string said, line;
  while (std::getline(file, line)) {
    const bool message = line.find("arning") != std::string::npos || line.find("line ") != std::string::npos;
    // A single value is given a range of its own: nothing is wrong.
    if (message && line.find(", adjusting to") == std::string::npos)
      said += (said.empty() ? "" : "; ") + line;
  }
  if (status != 0) throw GnuplotError("gnuplot failed: " + (said.empty() ? "no message" : said));
  return said;
}

// A folder that is removed with all it holds.
struct TemporaryFolder {
  fs::path path;

  // Beside a file, so that what is made in it can be renamed to that. Throws FileError.
  explicit TemporaryFolder(const std::string& file) : path(file + ".tmp." + std::to_string(getpid())) {
    std::error_code error;
    fs::create_directory(path, error);
    if (error) throw FileError("cannot write '" + file + "': " + error.message());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
};

}  // namespace

void write_script(const Figure& figure, const std::string& path) {
  const fs::path script = fs::path(path).replace_extension(".gp"),
                 table = fs::path(path).replace_extension(".dat");
  TextFile script_file(script), table_file(table);
  table_file.write(gnuplot_table(figure));
  script_file.write(gnuplot_script(figure, fs::path(path).filename(), table.filename()));
}

std::string draw(const Figure& figure, const std::string& path) {
  if (fs::is_directory(path)) throw FileError("cannot write '" + path + "': it is a directory");
  const TemporaryFolder folder(path);
  const fs::path drawn = folder.path / fs::path(path).filename();
  write_script(figure, drawn);
  std::string warnings = run_gnuplot(folder.path, fs::path(drawn).replace_extension(".gp").filename());
  std::error_code error;
  fs::rename(drawn, path, error);
  if (error) throw FileError("cannot write '" + path + "': " + error.message());
  return warnings;
}

}  // namespace qksolve::results
