// qksolve combine: one result from the work files of the shards of a sweep, or from repeated simulations.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <ostream>
#include <set>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "qksolve/phase/report/simulation_summary.hpp"
#include "qksolve/results/fields.hpp"
#include "qksolve/results/same_model.hpp"
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
  if (!file) throw results::FileError("cannot read '" + path + "': " + std::strerror(errno));
  std::string begin(16, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return results::begins_work_file(begin);
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
    if (!is_work_file(path))
      throw ContentError(path + ": is not a work file, expected one as " + arguments.files.front());
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
  for (const char* key : {"seed", "seeds", "instances"}) parameters.erase(key);
  return parameters;
}

// Throws ContentError, naming key and row, unless the records are those of phase simulate.
void check_simulation(const std::string& path, const Json& json) {
  const std::set<std::string> words{"init", "optimizer", "status", "reason", "branch_found"};
  results::member(path, json, "parameters", "an object", &Json::is_object);
  results::member(path, json, "summary", "an object", &Json::is_object);
  const auto check_row = [&](const Json& row, const std::vector<std::string>& needed) {
    for (const std::string& key : needed)
      words.contains(key) ? void(results::word_field(row, key)) : void(results::number_field(row, key));
    for (const auto& [key, value] : row.items())
      if (words.contains(key))
        results::word_field(row, key);
      else
        results::number_field(row, key);
    if (results::number_field(row, "d") < 1) throw results::FieldError(row, "d", "at least 1");
  };
  try {
    for (const Json& row : results::member(path, json, "records", "a list", &Json::is_array)) {
      check_row(row, {"alpha", "omega", "d", "seed", "instance", "init", "optimizer", "status"});
      if (results::is_averaged(row)) results::number_field(row, "train_loss_limit");
    }
    if (json.contains("trace"))
      for (const Json& row : results::member(path, json, "trace", "a list", &Json::is_array))
        check_row(row, {"alpha", "omega", "d", "seed", "instance", "init", "optimizer", "iteration"});
  } catch (const results::FieldError& error) {
    throw ContentError(path + ": " + results::place_of_row(json, error.row()) + error.what());
  }
}

Json read_simulation(const std::string& path) {
  if (is_work_file(path))
    throw ContentError(path + ": is the work file of a sweep, expected " + kSimulationSchema +
                       " as the first file");
  Json json = results::read_result(path);
  if (json.at("schema") != kSimulationSchema)
    throw ContentError(path + ": schema '" + json.at("schema").get<std::string>() +
                       "' cannot be combined, expected the work file of a sweep or " + kSimulationSchema);
  if (const auto lacking = results::incompleteness(json))
    throw ContentError(path + ": an interrupted run, " + *lacking + "; expected complete ones");
  check_simulation(path, json);
  return json;
}

// The predictions are the same for all draws but for their own noise: those of the first file stand for all.
void copy_predictions(Json& paths, const Json& from) {
  for (Json& row : paths)
    for (const Json& other : from) {
      const std::vector<std::string> place{"alpha", "omega", "d", "init", "optimizer", "iteration"};
      if (!other.is_object() || !std::all_of(place.begin(), place.end(), [&](const std::string& key) {
            return other.contains(key) && other.at(key) == row.at(key);
          }))
        continue;
      for (const auto& [key, value] : other.items())
        if (key.find("_predicted") != std::string::npos) row[key] = value;
      break;
    }
}

int combine_simulations(const Arguments& arguments, const Options& options, Context& context) {
  results::Result result = new_result(options, arguments.run, context);
  result.schema = kSimulationSchema;
  std::set<Json> draws;
  Json seeds = Json::array(), first_paths;
  for (const std::string& path : arguments.files) {
    const Json json = read_simulation(path);
    const Json parameters = common_parameters(json["parameters"]);
    if (path == arguments.files.front()) {
      result.parameters = parameters;
      first_paths = json["summary"].value("paths", Json());
    }
    results::require_header(path, {{"parameters", parameters}}, {{"parameters", result.parameters}});
    const Json own = json["parameters"].value("seeds", Json::array());
    for (const Json& seed :
         json["parameters"].contains("seed") ? Json::array({json["parameters"]["seed"]}) : own)
      seeds.push_back(seed);
    for (const Json& record : json["records"]) {
      Json draw = Json::array();
      for (const char* key : {"alpha", "omega", "d", "seed", "instance", "init"}) draw.push_back(record[key]);
      if (!draws.insert(draw).second)
        throw ContentError(path + ": repeats the draw with seed " + record["seed"].dump() + ", instance " +
                           record["instance"].dump() + ", expected other draws in every file");
      result.records.push_back(record);
    }
    if (!json.contains("trace")) continue;
    if (!result.trace) result.trace.emplace();
    result.trace->insert(result.trace->end(), json["trace"].begin(), json["trace"].end());
  }
  result.parameters["seeds"] = seeds;
  // The control variates of the runs are not in their results.
  const std::vector<Eigen::VectorXd> no_controls(result.records.size());
  const std::vector<Json> not_controlled(result.records.size(), Json::object());
  result.summary = results::summarize_simulation(result.records, no_controls, not_controlled);
  if (first_paths.is_array() && result.trace) {
    result.summary["paths"] = results::summarize_paths(*result.trace, {});
    copy_predictions(result.summary["paths"], first_paths);
  }
  results::Output output = arguments.run.open_output(context);
  output.write(result);
  // Which starts were asked for by name is not known any more: one that ends on another branch does not
  // count.
  const bool all_converged = std::all_of(result.records.begin(), result.records.end(), [](const Json& r) {
    return r["status"] == "converged" || r["status"] == "branch_changed";
  });
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
