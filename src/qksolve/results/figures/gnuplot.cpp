#include "qksolve/results/figures/gnuplot.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "qksolve/results/result.hpp"
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

  // Beside a file. Throws FileError.
  explicit TemporaryFolder(const std::string& file) : path(temporary_name(file)) {
    if (mkdir(path.c_str(), 0700) != 0)
      throw FileError("cannot write '" + file + "': " + std::strerror(errno));
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
  TextFile file(path);
  const TemporaryFolder folder(link_target(path));
  // Under a name of our own: that of the figure may be one that gnuplot takes for an option.
  const fs::path drawn = (folder.path / "figure").concat(fs::path(path).extension().string());
  write_script(figure, drawn);
  std::string warnings = run_gnuplot(folder.path, "figure.gp");
  if (!fs::exists(drawn))
    throw GnuplotError("gnuplot drew nothing: " + (warnings.empty() ? "no message" : warnings));
  file.write(read_file(drawn));
  return warnings;
}

}  // namespace qksolve::results
