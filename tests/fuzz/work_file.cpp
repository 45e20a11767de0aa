// Work files of sweeps: read, and combined.
#include "qksolve/results/work_file.hpp"

#include <memory>
#include <sstream>

#include "fuzz/target.hpp"

namespace {

using namespace qksolve;

void read(const std::string& path) {
  const bool undamaged = fuzz::read_or_refuse([&] {
    results::WorkFileReader reader(path);
    for (const std::string& task : reader.tasks()) reader.value(task);
  });
  if (undamaged) fuzz::run_command(app::combine(), {"combine", path});
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const fuzz::MemoryFile file(text);
  read(file.path());

  // The checksums keep most changes from what reads the values: the same values with checksums that fit.
  const fuzz::MemoryFile fitting;
  std::istringstream lines(text);
  std::string line;
  std::unique_ptr<results::WorkFile> work_file;
  while (std::getline(lines, line)) {
    const std::string before_task = "{\"task\":\"", before_value = "\"value\":";
    const std::size_t at = line.find(before_value);
    if (!line.starts_with(before_task) || at == std::string::npos) continue;
    const std::string task =
        line.substr(before_task.size(), line.find('"', before_task.size()) - before_task.size());
    const std::size_t first = at + before_value.size();
    const results::Json value =
        results::Json::parse(line.substr(first, line.size() - first - 1), nullptr, false);
    if (value.is_discarded()) continue;
    if (!work_file)
      work_file = std::make_unique<results::WorkFile>(fitting.path(), value);
    else
      work_file->add(task, value);
  }
  if (!work_file) return 0;
  work_file.reset();
  read(fitting.path());
  return 0;
}
