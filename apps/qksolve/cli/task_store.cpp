#include "cli/task_store.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <ostream>

#include "cli/usage.hpp"
#include "qksolve/results/printable.hpp"

namespace qksolve::app {

using results::Json;

TaskStore::TaskStore(std::string path, const Json& header, const RunArguments& run, const Context& context)
    : path_(std::move(path)), quiet_(run.quiet), err_(context.err) {
  if (!in_file()) return;
  file_ = std::make_unique<results::WorkFile>(path_, header);
  if (file_->repaired() && !quiet_)
    err_ << "qksolve: " << results::printable(path_)
         << ": the last line was half-written and is done again\n";
}

std::vector<std::size_t> TaskStore::unfinished(const std::vector<std::size_t>& wanted,
                                               const std::vector<std::string>& ids) const {
  std::vector<std::size_t> open;
  for (const std::size_t task : wanted)
    if (!file_ || !file_->contains(ids[task])) open.push_back(task);
  if (open.size() < wanted.size() && !quiet_)
    err_ << "qksolve: " << results::printable(path_) << ": " << wanted.size() - open.size() << " of "
         << wanted.size() << " tasks are finished\n";
  return open;
}

void TaskStore::tell_interruption(const std::vector<std::size_t>& wanted,
                                  const std::vector<std::string>& ids) const {
  const auto finished = std::count_if(wanted.begin(), wanted.end(),
                                      [&](std::size_t task) { return file_ && file_->contains(ids[task]); });
  err_ << "qksolve: interrupted, " << finished << " of " << wanted.size()
       << " tasks are finished, in the work file '" << results::printable(path_)
       << "'; the same command goes on from there\n";
}

void TaskStore::add(const std::string& id, const std::string& found) {
  reader_.reset();
  if (file_)
    file_->add(id, Json::parse(found));
  else
    memory_[id] = found;
}

std::optional<Json> TaskStore::find(const std::string& id) {
  if (file_) {
    if (!reader_) reader_ = std::make_unique<results::WorkFileReader>(path_);
    if (!reader_->contains(id)) return std::nullopt;
    return reader_->value(id);
  }
  const auto found = memory_.find(id);
  if (found == memory_.end()) return std::nullopt;
  return Json::parse(found->second);
}

void TaskStore::remove_file() { std::remove(path_.c_str()); }

void declare_resume(Options& options, std::string& resume) {
  options.path("resume", resume,
               "Work file: what it holds is not computed again, what is computed is added (default: the name "
               "of the output and .work.jsonl, removed at the end)");
}

std::string work_file(const std::string& resume, const RunArguments& run) {
  namespace fs = std::filesystem;
  std::string path = resume;
  const bool regular = !fs::exists(run.output) || fs::is_regular_file(run.output);
  if (path.empty() && !run.output.empty() && regular) path = run.output + ".work.jsonl";
  for (const auto& [option, file] : {std::pair("--csv", run.csv), std::pair("--output", run.output)})
    if (!path.empty() && !file.empty() && results::same_file(path, file))
      throw UsageError(std::string(option) + ": '" + file +
                       "' is not allowed, expected another file than the work file");
  return path;
}

}  // namespace qksolve::app
