// What the tasks of a long run found: kept in a work file, so that the run can be resumed, or in memory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "qksolve/results/work_file.hpp"

namespace qksolve::app {

class TaskStore {
 public:
  // Empty path: in memory. Throws as results::WorkFile; says where a half-written line was taken away.
  TaskStore(std::string path, const results::Json& header, const RunArguments& run, const Context& context);

  bool in_file() const { return !path_.empty(); }
  // Those of `wanted`, numbers of tasks with these identities, that have not finished; says how many have.
  std::vector<std::size_t> unfinished(const std::vector<std::size_t>& wanted,
                                      const std::vector<std::string>& ids) const;
  // After an interruption: says how many of `wanted` have finished, in which work file, and how to go on.
  void tell_interruption(const std::vector<std::size_t>& wanted, const std::vector<std::string>& ids) const;
  // `found`: the text of a JSON value.
  void add(const std::string& id, const std::string& found);
  // Of a finished task.
  std::optional<results::Json> find(const std::string& id);
  void remove_file();

 private:
  std::string path_;
  bool quiet_;
  std::ostream& err_;
  std::unique_ptr<results::WorkFile> file_;
  std::unique_ptr<results::WorkFileReader> reader_;  // made when something is looked up
  std::map<std::string, std::string> memory_;
};

// The option --resume, and the work file that it and --output stand for; empty: none. An output that is not a
// regular file, as /dev/stdout, has none. Throws UsageError where --csv or --output is
// the work file.
void declare_resume(Options& options, std::string& resume);
std::string work_file(const std::string& resume, const RunArguments& run);

}  // namespace qksolve::app
