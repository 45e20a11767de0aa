// qksolve coupled solve: the coupled query-key map against what is predicted of it.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "qksolve/coupled/experiment.hpp"
#include "qksolve/coupled/identities.hpp"
#include "qksolve/results/json_text.hpp"

namespace qksolve::app {

namespace {

using coupled::Finding;
using coupled::Setting;
using coupled::Verdict;
using results::Json;
using results::put;

// A matrix given as a list of rows.
Eigen::MatrixXd read_matrix(const std::string& path, const Json& file, const std::string& key,
                            std::int64_t columns) {
  const std::string expected = "--projections: '" + path + "': expected '" + key + "' as rows of " +
                               std::to_string(columns) + " numbers (--head-dimension)";
  if (!file.contains(key) || !file[key].is_array() || file[key].empty()) throw UsageError(expected);
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(file[key].size()), columns);
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    const Json& row = file[key][static_cast<std::size_t>(i)];
    const std::string place = ", row " + std::to_string(i + 1);
    if (!row.is_array() || row.size() != static_cast<std::size_t>(columns))
      throw UsageError(expected + place);
    for (Eigen::Index j = 0; j < columns; ++j) {
      const Json& entry = row[static_cast<std::size_t>(j)];
      if (!entry.is_number() || !std::isfinite(entry.get<double>())) throw UsageError(expected + place);
      matrix(i, j) = entry.get<double>();
    }
  }
  return matrix;
}

struct Arguments {
  std::vector<std::string> integrators = names_of(coupled::kIntegrators, coupled::integrator_name),
                           couplings{"mlp"};
  std::vector<double> step_sizes{0.3};
  std::vector<std::int64_t> coupling_steps{1}, contexts{64, 128, 256, 512};
  std::int64_t head_dimension = 64, hidden = 64, draws = 8, states = 8;
  double initial_scale = 1.0, frequency = 1.0;
  std::string projections_path;
  std::optional<coupled::Projections> projections;
  RunArguments run;

  void declare(Options& options) {
    options.choices("integrator", integrators, integrators, "How queries and keys are evolved");
    options.choices(
        "coupling", couplings, names_of(coupled::kCouplingKinds, coupled::coupling_name),
        "Force between them: two-layer network, minus the gradient of one, linear, -frequency^2 q");
    options.grid("step-size", step_sizes, {0.0, 1000.0}, "Step size h");
    options.integers("coupling-steps", coupling_steps, 1, 10000, "Steps n of the integrator");
    options.integer("head-dimension", head_dimension, 1, 1024, "Dimension d of a query");
    options.integer("hidden", hidden, 1, 65536, "Hidden units of the network");
    options.real("initial-scale", initial_scale, {0.0, 1000.0},
                 "Weights relative to the size that makes the entries of the force of order 1");
    options.real("frequency", frequency, {0.0, 1000.0, true, false}, "Frequency of the harmonic coupling");
    options.text(
        "context", "LIST|none", "64,128,256,512",
        "Tokens that attend to each other, each 2 to 16384; none: only the map by itself",
        [this](const std::string& t) {
          contexts = t == "none" ? std::vector<std::int64_t>() : parse_integers("--context", t, 2, 16384);
        },
        [this] { return contexts.empty() ? Json("none") : Json(contexts); });
    options.path(
        "projections", projections_path,
        "JSON file {\"query\": rows, \"key\": rows}: q = x query, k = x key with x ~ N(0, I), in place of "
        "independent q, k ~ N(0, I)");
    options.integer("draws", draws, 2, 100000, "Independent draws of weights and tokens");
    options.integer("states", states, 1, 100000, "Tokens a draw at which exact statements are checked");
    run.declare_seed(options);
    run.declare_presentation(options);
  }

  void finish(const Options&) {
    if (projections_path.empty()) return;
    const Json json = results::parse_json("--projections: '" + projections_path + "'",
                                          results::read_file(projections_path), {"query", "key"});
    if (!json.is_object()) throw UsageError("--projections: '" + projections_path + "' is not a JSON object");
    projections = coupled::Projections{read_matrix(projections_path, json, "query", head_dimension),
                                       read_matrix(projections_path, json, "key", head_dimension)};
    if (projections->query.rows() != projections->key.rows())
      throw UsageError("--projections: '" + projections_path + "': query has " +
                       std::to_string(projections->query.rows()) + " rows and key " +
                       std::to_string(projections->key.rows()) + ", expected as many of each");
  }

  coupled::Experiment experiment() const {
    coupled::Experiment e;
    for (const coupled::Integrator integrator : coupled::kIntegrators)
      for (const coupled::CouplingKind kind : coupled::kCouplingKinds)
        if (chosen(integrators, coupled::integrator_name(integrator)) &&
            chosen(couplings, coupled::coupling_name(kind)))
          for (const double h : step_sizes)
            for (const std::int64_t n : coupling_steps)
              e.settings.push_back({integrator, kind, h, static_cast<int>(n)});
    e.contexts.assign(contexts.begin(), contexts.end());
    e.dimension = static_cast<int>(head_dimension);
    e.hidden = static_cast<int>(hidden);
    e.scale = initial_scale;
    e.frequency = frequency;
    e.draws = static_cast<int>(draws);
    e.states = static_cast<int>(states);
    e.seed = static_cast<std::uint64_t>(run.seed);
    e.projections = projections;
    return e;
  }

  std::optional<bool> stable(const Setting& s) const {
    coupled::Map map{s.integrator, {}, s.step_size, s.steps};
    map.coupling.kind = s.coupling;
    map.coupling.frequency = frequency;
    return coupled::is_stable(map);
  }

 private:
  static bool chosen(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
};

Json make_record(const Finding& f, const Arguments& arguments) {
  Json record;
  record["integrator"] = coupled::integrator_name(f.setting.integrator);
  record["coupling"] = coupled::coupling_name(f.setting.coupling);
  record["step_size"] = f.setting.step_size;
  record["coupling_steps"] = f.setting.steps;
  if (const std::optional<bool> stable = arguments.stable(f.setting)) record["stable"] = *stable;
  if (f.context) record["context"] = *f.context;
  record["quantity"] = f.quantity;
  record["kind"] = f.exact ? "exact" : "asymptotic";
  record["status"] = f.verdict == Verdict::converged    ? "converged"
                     : f.verdict == Verdict::non_finite ? "non_finite"
                                                        : "failed";
  if (!f.reason.empty()) record["reason"] = f.reason;
  put(record, "predicted", f.predicted);
  put(record, "predicted_error", f.predicted_error);
  put(record, "measured", f.measured);
  put(record, "measured_error", f.measured_error);
  put(record, "difference", f.difference);
  put(record, "difference_error", f.difference_error);
  return record;
}

std::string value_with_error(const Json& record, const std::string& key) {
  return record.contains(key) && record.contains(key + "_error")
             ? with_error(record[key], record[key + "_error"])
             : "-";
}

std::vector<std::string> coordinates(const Json& r) {
  return {r["integrator"].get<std::string>(), r["coupling"].get<std::string>(), short_number(r["step_size"]),
          r["coupling_steps"].dump()};
}

void print_map(std::ostream& err, const std::vector<Json>& records) {
  Table table({"integrator", "coupling", "h", "n", "quantity", "predicted", "measured", "difference",
               "allowed", "status"});
  for (const Json& r : records) {
    if (r.contains("context")) continue;
    const bool exact = r["kind"] == "exact";
    auto number = [&](const std::string& key) { return r.contains(key) ? short_number(r[key]) : "-"; };
    std::vector<std::string> row = coordinates(r);
    std::string status = r["status"];
    if (r.contains("reason")) status += ": " + r["reason"].get<std::string>();
    if (!exact) status += ", asymptotic";
    row.insert(row.end(), {r["quantity"].get<std::string>(),
                           exact ? number("predicted") : value_with_error(r, "predicted"),
                           exact ? number("measured") : value_with_error(r, "measured"),
                           exact ? number("difference") : value_with_error(r, "difference"),
                           exact ? number("difference_error") : "", status});
    table.add(row);
  }
  table.print(err);
}

void print_attention(std::ostream& err, const std::vector<Json>& records) {
  const std::vector<std::string> shown{"diagonal_logit_mean",
                                       "offdiagonal_logit_variance",
                                       "entropy",
                                       "concentration",
                                       "self_attention",
                                       "sigma_ratio",
                                       "effective_rank"};
  std::vector<std::string> header{"integrator", "coupling", "h", "n", "T"};
  for (std::string name : shown) {
    std::replace(name.begin(), name.end(), '_', ' ');
    header.push_back(name);
  }
  Table table(header);
  std::vector<std::string> row;
  for (const Json& r : records) {
    if (!r.contains("context")) continue;
    if (r["quantity"] == shown.front() || row.empty()) {
      row = coordinates(r);
      row.push_back(r["context"].dump());
    }
    if (std::find(shown.begin(), shown.end(), r["quantity"]) != shown.end())
      row.push_back(value_with_error(r, "measured"));
    if (r["quantity"] == shown.back()) table.add(row);
  }
  err << "\n";
  table.print(err);
}

std::string part_name(const Setting& s, std::optional<int> tokens) {
  return coupled::integrator_name(s.integrator) + ", " + coupled::coupling_name(s.coupling) + ", h " +
         to_text(s.step_size) + ", n " + std::to_string(s.steps) +
         (tokens ? ", " + std::to_string(*tokens) + " tokens" : "");
}

// Names of the settings and contexts that have no finding.
std::vector<std::string> missing_parts(const coupled::Experiment& experiment,
                                       const std::vector<Finding>& findings) {
  std::set<std::string> found;
  for (const Finding& f : findings) found.insert(part_name(f.setting, f.context));
  std::vector<std::optional<int>> contexts{std::nullopt};
  contexts.insert(contexts.end(), experiment.contexts.begin(), experiment.contexts.end());
  std::vector<std::string> missing;
  for (const Setting& s : experiment.settings)
    for (const std::optional<int>& context : contexts)
      if (!found.contains(part_name(s, context))) missing.push_back(part_name(s, context));
  return missing;
}

Json summarize(const std::vector<Json>& records) {
  std::int64_t exact = 0, holding = 0;
  double largest = 0;
  for (const Json& r : records) {
    if (r["kind"] != "exact") continue;
    ++exact;
    if (r["status"] == "converged") ++holding;
    if (r.contains("difference") && r.contains("difference_error") && r["difference_error"] > 0)
      largest =
          std::max(largest, std::abs(r["difference"].get<double>()) / r["difference_error"].get<double>());
  }
  Json summary;
  summary["exact_statements"] = exact;
  summary["exact_statements_that_hold"] = holding;
  put(summary, "largest_difference_over_bound", largest);
  return summary;
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  results::Output output = arguments.run.open_output(context);
  results::Result result = new_result(options, arguments.run, context);
  const coupled::Experiment experiment = arguments.experiment();
  for (const Setting& s : experiment.settings)
    if (arguments.stable(s) == false && s.steps == arguments.coupling_steps.front() && !arguments.run.quiet)
      context.err << "qksolve: " << coupled::integrator_name(s.integrator)
                  << " is unstable at h w = " << short_number(s.step_size * arguments.frequency)
                  << ", it is bounded for h w < 2\n";
  {
    Progress progress(context, arguments.run, coupled::task_count(experiment));
    const auto findings =
        coupled::run_experiment(experiment, static_cast<int>(arguments.run.threads), interrupted,
                                [&](const Setting& s, std::optional<int> tokens) {
                                  progress.done("coupled solve: " + part_name(s, tokens));
                                });
    for (const Finding& f : findings) result.records.push_back(make_record(f, arguments));
    if (interrupted()) result.missing = missing_parts(experiment, findings);
  }
  result.summary = summarize(result.records);
  write_result(output, result, context);
  if (!arguments.run.quiet && !result.records.empty()) {
    print_map(context.err, result.records);
    if (!arguments.contexts.empty()) print_attention(context.err, result.records);
  }
  const Json& summary = result.summary;
  return exit_code(summary["exact_statements"] == summary["exact_statements_that_hold"]);
}

}  // namespace

Command coupled_solve() {
  return make_command<Arguments>(
      "coupled", "solve", "The coupled query-key map: volume, symplecticity, energy, attention spectra",
      "qksolve coupled solve --coupling mlp,harmonic --step-size 0.1,0.3 --context 256,1024 -o "
      "coupled.json",
      run);
}

}  // namespace qksolve::app
