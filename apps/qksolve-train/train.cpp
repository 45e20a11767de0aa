// qksolve coupled train: small transformers on associative recall and on text, one run per variant and seed.
#include "train.hpp"

#include <torch/version.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <ostream>

#include "arguments.hpp"
#include "cli/task_store.hpp"
#include "cli/usage.hpp"
#include "qksolve/coupled/report/training_summary.hpp"
#include "qksolve/numerics/task_farm.hpp"
#include "qksolve/results/text_file.hpp"
#include "qksolve/transformer/training.hpp"

namespace qksolve::app {

namespace {

using results::Json;
using transformer::Ending;
using transformer::TrainingRun;

constexpr double kSolved = 0.9;

// Everything that a run has in common with the others of its study.
Json common_definition(const TrainArguments& arguments, const Options& options) {
  Json parameters = arguments.parameters(options);
  for (const char* key : {"variant", "coupling_steps", "seeds", "seed", "trajectory"}) parameters.erase(key);
  // Where a text lies is not what it is.
  if (parameters.contains("corpus")) parameters["corpus"] = arguments.corpus_summary["check"];
  return {{"schema", options.schema()}, {"parameters", parameters}};
}

Json definition(const Json& common, const ModelRun& run) {
  Json json = common;
  json["parameters"].update(run.coordinates());
  return json;
}

Json evaluation(const TrainArguments& arguments, const transformer::Evaluation& e) {
  Json json{{"step", e.step}, {"tokens", e.step * arguments.batch * *arguments.context}};
  results::put(json, "loss", e.loss);
  results::put(json, "loss_error", e.loss_error);
  if (arguments.task == "mqar") {
    results::put(json, "accuracy", e.accuracy);
    results::put(json, "accuracy_error", e.accuracy_error);
  } else {
    results::put(json, "perplexity", std::exp(e.loss));
    results::put(json, "perplexity_error", std::exp(e.loss) * e.loss_error);
  }
  return json;
}

// What is kept of a run: its record, its curve and the time it took.
Json found(const TrainArguments& arguments, const ModelRun& run, const TrainingRun& trained) {
  Json record{{"task", arguments.task}};
  record.update(run.coordinates());
  const bool finite = trained.ending == Ending::finished;
  record["status"] = finite ? "converged" : "non_finite";
  if (!finite)
    record["reason"] = "the loss or its gradient is not finite after step " + std::to_string(trained.steps);
  record["parameter_count"] = trained.parameter_count;
  record["steps"] = trained.steps;
  record["tokens"] = trained.steps * arguments.batch * *arguments.context;
  Json curve = Json::array();
  for (const transformer::Evaluation& e : trained.curve) curve.push_back(evaluation(arguments, e));
  if (finite) {
    Json last = curve.back();
    last.erase("step");
    record.update(last);
  }
  if (arguments.task == "mqar")
    for (std::size_t i = 0; i < curve.size(); ++i)
      if (curve[i].at("accuracy") >= kSolved) {
        // Somewhere since the evaluation before.
        const std::int64_t step = curve[i].at("step"),
                           before = i == 0 ? 0 : curve[i - 1].at("step").get<std::int64_t>();
        record["steps_to_solve"] = step;
        record["steps_to_solve_error"] = step - before;
        break;
      }
  for (std::size_t i = 0; i < trained.layers.size(); ++i) {
    const transformer::LayerMeasurement& layer = trained.layers[i];
    const std::string of = std::string("_").append(std::to_string(i + 1));
    results::put(record, "step_size" + of, layer.step_size);
    results::put(record, "entropy" + of, layer.entropy);
    results::put(record, "entropy" + of + "_error", layer.entropy_error);
    results::put(record, "sigma_ratio" + of, layer.sigma_ratio);
    results::put(record, "sigma_ratio" + of + "_error", layer.sigma_ratio_error);
  }
  return {{"record", record}, {"curve", curve}, {"seconds", trained.seconds}};
}

transformer::Checkpoints checkpoints_at(const std::string& path, std::int64_t every,
                                        const Json& configuration) {
  transformer::Checkpoints c;
  c.every = every;
  c.configuration = configuration.dump();
  c.load = [path]() -> std::optional<std::string> {
    if (!std::filesystem::exists(path)) return std::nullopt;
    return results::read_file(path);
  };
  c.save = [path](const std::function<void(std::ostream&)>& write) { results::TextFile(path).write(write); };
  c.refuse = [path, configuration](const std::string& other) {
    results::require_header(path, Json::parse(other, nullptr, false), configuration);
  };
  return c;
}

TrainingRun train(const TrainArguments& arguments, const ModelRun& run, const std::string& checkpoint,
                  const Json& configuration, const numerics::Interrupt& stop,
                  const std::function<void(const transformer::Evaluation&)>& evaluated) {
  transformer::Checkpoints checkpoints;
  if (!checkpoint.empty())
    checkpoints = checkpoints_at(checkpoint, arguments.checkpoint_every, configuration);
  try {
    return transformer::train(arguments.model(run), arguments.training_options(), arguments.data, checkpoints,
                              stop, evaluated);
  } catch (const transformer::CheckpointError& error) {
    throw results::ContentError(checkpoint + ": " + error.what());
  } catch (const transformer::MemoryError&) {
    throw UsageError("--batch: " + std::to_string(arguments.batch) + " with --context " +
                     std::to_string(*arguments.context) + ", --d " + std::to_string(arguments.d) +
                     " and --layers " + std::to_string(arguments.layers) +
                     " needs more memory than there is, expected smaller ones");
  }
}

// Throws where checkpoints cannot be written, or one that is there cannot be used: known before anything is
// computed, or written.
void check_checkpoints(const std::string& folder, const std::vector<std::string>& paths,
                       const std::vector<Json>& configurations) {
  if (!std::filesystem::exists(folder)) return;
  if (!std::filesystem::is_directory(folder))
    throw results::FileError("cannot write to '" + folder + "': it is not a folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw results::FileError("cannot write to '" + folder + "': " + std::strerror(errno));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    try {
      transformer::check_checkpoint(checkpoints_at(paths[i], 1, configurations[i]));
    } catch (const transformer::CheckpointError& error) {
      throw results::ContentError(paths[i] + ": " + error.what());
    }
  }
}

std::string interval(const Json& row, const std::string& key) {
  for (const char* end : {"", "_low", "_high"})
    if (!row.contains(key + end)) return "-";
  return short_number(row[key], 3) + " [" + short_number(row[key + "_low"], 3) + ", " +
         short_number(row[key + "_high"], 3) + "]";
}

// `speeds`: tokens a second of every kind of run, in the order of the summary.
void print_summary(std::ostream& err, const Json& summary, const std::vector<double>& speeds, bool text) {
  Table table(text ? std::vector<std::string>{"variant", "n", "parameters", "runs", "perplexity", "spread",
                                              "% to standard", "% to uncoupled", "tokens to standard's",
                                              "tokens/s"}
                   : std::vector<std::string>{"variant", "n", "parameters", "runs", "solved", "accuracy",
                                              "median steps to 90 %", "loss to standard", "loss to uncoupled",
                                              "tokens/s"});
  std::size_t count = 0;
  for (const Json& row : summary["variants"]) {
    auto number = [&](const char* key, int digits) {
      return row.contains(key) ? short_number(row[key], digits) : std::string("-");
    };
    auto mean = [&](const std::string& key) {
      return row.contains(key) ? with_error(row[key], row.value(key + "_error", 0.0)) : std::string("-");
    };
    std::vector<std::string> cells{row["variant"], number("coupling_steps", 6), number("parameter_count", 9),
                                   row["converged"].dump() + "/" + row["runs"].dump()};
    if (text)
      cells.insert(cells.end(), {mean("perplexity"), number("perplexity_spread", 2),
                                 interval(row, "perplexity_change_to_standard"),
                                 interval(row, "perplexity_change_to_uncoupled"), mean("tokens_ratio")});
    else
      cells.insert(cells.end(),
                   {number("solved", 6), mean("accuracy"), number("median_steps_to_solve", 6),
                    interval(row, "difference_to_standard"), interval(row, "difference_to_uncoupled")});
    cells.push_back(short_number(speeds.at(count++), 3));
    table.add(cells);
  }
  table.print(err);
}

int run(const TrainArguments& arguments, const Options& options, Context& context) {
  const bool fast = transformer::prepare_library();
  if (!fast && !arguments.run.quiet)
    context.err << "qksolve: matrix products are not those of OpenBLAS and slow, libopenblas0 would help\n";
  results::Output output = arguments.run.open_output(context);
  const std::vector<ModelRun> runs = arguments.runs();
  const Json common = common_definition(arguments, options);
  const std::string folder = arguments.checkpoint_folder();
  std::vector<Json> definitions;
  std::vector<std::string> ids, checkpoints;
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    definitions.push_back(definition(common, runs[i]));
    ids.push_back(results::task_id(definitions[i]));
    if (!folder.empty()) checkpoints.push_back(folder + "/" + runs[i].name() + ".pt");
    wanted.push_back(i);
  }
  if (!folder.empty()) check_checkpoints(folder, checkpoints, definitions);
  TaskStore store(work_file(arguments.resume, arguments.run), common, arguments.run, context);
  const std::vector<std::size_t> tasks = store.unfinished(wanted, ids);
  if (!folder.empty() && !tasks.empty()) std::filesystem::create_directories(folder);
  {
    const std::int64_t evaluations =
        (arguments.steps + arguments.evaluate_every - 1) / arguments.evaluate_every;
    Progress progress(context, arguments.run, tasks.size() * static_cast<std::size_t>(evaluations));
    std::mutex mutex;  // of the progress and the store
    std::atomic<bool> failed = false;
    auto finish = [&](std::size_t i, const TrainingRun& trained) {
      if (trained.ending == Ending::interrupted) return;
      const std::scoped_lock lock(mutex);
      store.add(ids[i], found(arguments, runs[i], trained).dump());
      // The last good state of a run that failed is kept.
      if (!folder.empty() && trained.ending == Ending::finished) std::filesystem::remove(checkpoints[i]);
    };
    // A run that has finished is kept even where an interruption, or the failure of another one, ends them
    // all; the others stop at their next step, and save their states.
    until_interrupt([&] {
      numerics::run_tasks(
          tasks, static_cast<int>(arguments.run.threads),
          [&](std::size_t i) -> std::string {
            try {
              finish(i, train(
                            arguments, runs[i], folder.empty() ? "" : checkpoints[i], definitions[i],
                            [&] { return interrupted() || failed; },
                            [&](const transformer::Evaluation& e) {
                              const std::scoped_lock lock(mutex);
                              progress.done("coupled train: " + runs[i].name() + ", step " +
                                            std::to_string(e.step) + ", loss " + short_number(e.loss, 4));
                            }));
            } catch (...) {
              failed = true;
              throw;
            }
            return "finished";
          },
          [](std::size_t, const std::string&) {}, interrupted);
    });
  }
  // What is kept in a work file needs no other place.
  if (interrupted() && store.in_file()) {
    store.tell_interruption(wanted, ids);
    return kInterrupted;
  }

  results::Result result = new_result(options, arguments.run, context);
  result.parameters = arguments.parameters(options);
  result.provenance.further_libraries["libtorch"] = TORCH_VERSION;
  std::vector<results::TrainedModel> models;
  struct Effort {
    double tokens = 0, seconds = 0;
  };
  std::vector<std::pair<std::string, Effort>> efforts;  // of the kinds of runs, in order
  if (arguments.trajectory) result.trace.emplace();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::optional<Json> kept = store.find(ids[i]);
    if (!kept) {
      result.missing.push_back(runs[i].name());
      continue;
    }
    const Json& record = kept->at("record");
    result.records.push_back(record);
    models.push_back({record, kept->at("curve").get<std::vector<Json>>()});
    if (efforts.empty() || efforts.back().first != runs[i].kind())
      efforts.emplace_back(runs[i].kind(), Effort());
    efforts.back().second.tokens += record.at("tokens").get<double>();
    efforts.back().second.seconds += kept->at("seconds").get<double>();
    if (!result.trace) continue;
    for (const Json& point : kept->at("curve")) {
      Json row = runs[i].coordinates();
      row.update(point);
      result.trace->push_back(row);
    }
  }
  result.summary = results::summarize_training(models);
  if (!arguments.corpus_summary.is_null()) result.summary["corpus"] = arguments.corpus_summary;
  std::vector<double> speeds;
  for (const auto& [kind, spent] : efforts) {
    speeds.push_back(spent.seconds > 0 ? spent.tokens / spent.seconds : 0);
    result.provenance.measurements["tokens_per_second"][kind] = speeds.back();
  }
  write_result(output, result, context);
  if (!arguments.run.quiet && !result.records.empty())
    print_summary(context.err, result.summary, speeds, arguments.task == "text");
  if (store.in_file() && arguments.resume.empty()) store.remove_file();
  // Of ours alone, and only where no run left a state.
  std::error_code not_empty;
  if (arguments.checkpoints.empty() && !folder.empty()) std::filesystem::remove(folder, not_empty);
  return exit_code(result.records);
}

}  // namespace

Command train() {
  return make_command<TrainArguments>(
      "coupled", "train", "Small transformers with standard, coupled, uncoupled and differential attention",
      "qksolve coupled train --task mqar --seeds 8 -o mqar.json", run);
}

}  // namespace qksolve::app
