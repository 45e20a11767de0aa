// qksolve combine: one result from the work files of the shards of a sweep, or from repeated simulations.
#include <fstream>
#include <memory>
#include <ostream>
#include <set>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "qksolve/phase/report/simulation_summary.hpp"
#include "qksolve/results/work_file.hpp"
#include "sweep_output.hpp"

namespace qksolve::app {

namespace {

using results::ContentError;
using results::Json;
using results::Sweep;
using results::WorkFileReader;

const std::string kSimulationSchema = "qksolve.phase.simulate/1";

struct Arguments {
  std::vector<std::string> files;
  RunArguments run;

  void declare(Options& options) {
    options.positionals("files", files,
                        "Work files of the shards of one sweep, or results of phase simulate");
    run.declare_presentation(options);
  }

  void finish(const Options&) const {}
};

bool is_work_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw results::FileError("cannot read '" + path + "'");
  const std::string begin = "{\"task\":";
  std::string found(begin.size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  return found == begin;
}

// The sweep that a work file belongs to.
Sweep sweep_of(const std::string& path, const Json& header) {
  try {
    Sweep sweep(header.at("parameters"));
    if (sweep.size() > 0 && !sweep.alphas().empty()) return sweep;
  } catch (const Json::exception&) {  // said below
  }
  throw ContentError(path + ": line 1 is not the header of a sweep, expected its parameters");
}

int combine_shards(const Arguments& arguments, const Options& options, Context& context) {
  std::vector<std::unique_ptr<WorkFileReader>> shards;
  for (const std::string& path : arguments.files) {
    shards.push_back(std::make_unique<WorkFileReader>(path));
    if (shards.back()->header().is_null())
      throw ContentError(path + ": holds no complete line, expected the work file of a sweep");
    results::require_header(path, shards.back()->header(), shards.front()->header());
  }
  const Json& header = shards.front()->header();
  const Json schema = header.value("schema", Json(""));
  if (schema != results::kSweepSchema)
    throw ContentError(arguments.files.front() + ": schema " + schema.dump() +
                       " cannot be combined, expected " + results::kSweepSchema);
  const Sweep sweep = sweep_of(arguments.files.front(), header);

  std::vector<WorkFileReader*> holders(sweep.size(), nullptr);
  std::string missing;
  std::size_t missing_count = 0;
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    for (const auto& shard : shards)
      if (holders[i] == nullptr && shard->contains(sweep.id(i))) holders[i] = shard.get();
    if (holders[i] != nullptr) continue;
    if (++missing_count <= 6) missing += (missing.empty() ? "" : "; ") + sweep.name(i);
  }
  if (missing_count > 0)
    throw ContentError("combine: " + std::to_string(missing_count) + " of " + std::to_string(sweep.size()) +
                       " tasks are missing: " + missing + (missing_count > 6 ? "; ..." : ""));

  results::Output output = arguments.run.open_output(context);
  results::Result result = new_result(options, arguments.run, context);
  result.schema = results::kSweepSchema;
  result.parameters = sweep.parameters();
  const Sweep::Fetch fetch = [&](std::size_t task) -> std::optional<std::vector<Json>> {
    return sweep.records(task, holders[task]->value(sweep.id(task)), holders[task]->path());
  };
  return write_sweep(sweep, fetch, result, output, arguments.run, context);
}

// What has to agree between simulations: all parameters but those that only say which draws were made.
Json common_parameters(Json parameters) {
  for (const char* key : {"seed", "instances"}) parameters.erase(key);
  return parameters;
}

int combine_simulations(const Arguments& arguments, const Options& options, Context& context) {
  results::Result result = new_result(options, arguments.run, context);
  result.schema = kSimulationSchema;
  std::set<Json> draws;
  Json seeds = Json::array();
  for (const std::string& path : arguments.files) {
    const Json json = results::read_result(path);
    if (json.at("schema") != kSimulationSchema)
      throw ContentError(path + ": schema '" + json.at("schema").get<std::string>() +
                         "' cannot be combined, expected the work file of a sweep or " + kSimulationSchema);
    if (!json.contains("parameters") || !json.contains("records") || !json["records"].is_array())
      throw ContentError(path + ": expected the keys 'parameters' and 'records'");
    const Json parameters = common_parameters(json["parameters"]);
    if (result.parameters.empty()) result.parameters = parameters;
    results::require_header(path, {{"parameters", parameters}}, {{"parameters", result.parameters}});
    if (json["parameters"].contains("seed")) seeds.push_back(json["parameters"]["seed"]);
    for (const Json& record : json["records"]) {
      Json draw = Json::array();
      for (const char* key : {"alpha", "omega", "d", "seed", "instance", "init"}) {
        if (!record.is_object() || !record.contains(key))
          throw ContentError(path + ": a record has no '" + key + "', expected records of phase simulate");
        draw.push_back(record[key]);
      }
      if (!draws.insert(draw).second)
        throw ContentError(path + ": repeats the draw with seed " + record["seed"].dump() + ", instance " +
                           record["instance"].dump() + ", expected other draws in every file");
      result.records.push_back(record);
    }
  }
  result.parameters["seeds"] = seeds;
  // The control variates of the runs are not in their results.
  const std::vector<Eigen::VectorXd> no_controls(result.records.size());
  const std::vector<Json> not_controlled(result.records.size(), Json::object());
  result.summary = results::summarize_simulation(result.records, no_controls, not_controlled);
  results::Output output = arguments.run.open_output(context);
  output.write(result);
  bool all_converged = true;
  for (const Json& record : result.records)
    all_converged = all_converged && record.value("status", "") == "converged";
  if (!arguments.run.quiet)
    context.err << "combined " << result.records.size() << " records of " << arguments.files.size()
                << " files\n";
  return exit_code(all_converged);
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  return is_work_file(arguments.files.front()) ? combine_shards(arguments, options, context)
                                               : combine_simulations(arguments, options, context);
}

}  // namespace

Command combine() {
  return make_command<Arguments>("", "combine",
                                 "One result from the shards of a sweep, or from repeated simulations",
                                 "qksolve combine shard1.jsonl shard2.jsonl -o diagram.json", run);
}

}  // namespace qksolve::app
