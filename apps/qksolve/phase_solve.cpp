// qksolve phase solve: fixed points of the state evolution at given (alpha, omega).
#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "phase_arguments.hpp"
#include "phase_bayes.hpp"
#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/phase/report/phase_record.hpp"

namespace qksolve::app {

namespace {

using phase::BranchSolution;
using phase::Status;
using results::Json;
using results::put;

// Options that only empirical risk minimisation has.
const std::vector<std::string> kOfErm{"branch",  "quadrature",     "response", "iteration",
                                      "damping", "max-iterations", "start",    "trace"};

struct Arguments : PhaseArguments {
  Learner learner;
  std::vector<double> alpha{2.0};
  std::vector<double> start;  // q, m, theta, V in the reporting convention; empty: the branch's own starts
  bool trace = false;

  void declare(Options& options) {
    options.grid("alpha", alpha, kPositive, "Samples per dimension");
    learner.declare(options);
    declare_model(options);
    declare_branch(options);
    declare_solver(options, "Relative error allowed on every printed quantity");
    options.text(
        "start", "q,m,theta,V", "", "Starting point in the units of the table",
        [this](const std::string& text) {
          start = parse_reals("--start", text, {});
          if (start.size() != 4 || !(start[0] > 0) || !(start[3] > 0))
            throw UsageError("--start: '" + text +
                             "' is not allowed, expected q,m,theta,V with q > 0 and V > 0");
        },
        [this] { return start.empty() ? Json() : Json(start); });
    options.flag("trace", trace, "Add the iteration history to the result");
    run.declare_presentation(options);
  }

  void finish(const Options& options) {
    if (learner.bayes()) {
      finish_model();
      learner.finish(*this, options, kOfErm);
      return;
    }
    PhaseArguments::finish(options);
    if (start.empty()) return;
    if (rank > 1 || teacher_rank > 1 || positional_matrix.entries.size() != static_cast<std::size_t>(tokens))
      throw UsageError(
          "--start: not available here, expected --rank 1, --teacher-rank 1 and one positional direction");
    const double student = start[0] - start[2] * start[2] / variance();
    if (!(student > 0))
      throw UsageError("--start: q - theta^2/sigma^2 = " + to_text(student) +
                       " is not allowed, expected > 0");
  }
};

void add_trace(std::vector<Json>& trace, const BranchSolution& s, double omega, double variance) {
  for (const phase::TraceStep& step : s.trace) {
    Json row;
    row["alpha"] = s.alpha;
    row["omega"] = omega;
    row["branch"] = s.branch.name;
    row["level"] = step.level;
    row["map_evaluations"] = step.evaluations;
    put(row, "residual", step.residual);
    results::put_overlaps(row, step.overlaps, variance);
    trace.push_back(row);
  }
}

void print_table(std::ostream& err, const std::vector<Json>& records, std::int64_t rank) {
  // At rank 1 there are q, m, theta and V; at higher ranks their invariants (phase/report/phase_record.hpp).
  const auto any = [&](const std::string& key) {
    return std::any_of(records.begin(), records.end(), [&](const Json& r) { return r.contains(key); });
  };
  std::vector<std::string> shown;
  const auto eigenvalues = [&](const std::string& of) {
    for (std::int64_t k = 1; k <= rank; ++k) shown.push_back(rank == 1 ? of : of + "_" + std::to_string(k));
  };
  eigenvalues("q");
  shown.push_back(any("mu_norm") ? "mu_norm" : "m");
  shown.push_back(any("theta_norm") ? "theta_norm" : "theta");
  eigenvalues("V");
  shown.insert(shown.end(), {"train_loss", "gen_error"});
  std::vector<std::string> header{"alpha", "omega", "branch"};
  header.insert(header.end(), shown.begin(), shown.end());
  header.push_back("status");
  Table table(header);
  for (const Json& r : records) {
    std::vector<std::string> row{short_number(r["alpha"]), short_number(r["omega"]), r["branch"]};
    for (const std::string& key : shown)
      row.push_back(r.contains(key) ? with_error(r[key], r.value(key + "_error", 0.0)) : "-");
    std::string status = r["status"];
    if (r.contains("branch_found")) status += " to " + r["branch_found"].get<std::string>();
    if (r.value("global_minimum", false)) status += ", global minimum";
    row.push_back(status);
    table.add(row);
  }
  table.print(err);
  const Json& first = records.front();
  const double baseline_error = first.value("gen_error_linear_error", 0.0);
  err << "linear baseline, gen_error: "
      << (baseline_error > 0 ? with_error(first["gen_error_linear"], baseline_error)
                             : short_number(first["gen_error_linear"]))
      << "   (overlaps: q = sigma^2 |Q|^2/d, theta = sigma^2 Q.Q*/d, m = Q.e/sqrt(d), V in units 1/sigma^2"
      << (rank > 1 ? "; eigenvalues of q, V along their directions" : "") << ")\n";
}

phase::Overlaps start_overlaps(const std::vector<double>& start, double variance) {
  phase::Overlaps o;
  o.q = Eigen::MatrixXd::Constant(1, 1, start[0] / variance);
  o.m = Eigen::MatrixXd::Constant(1, 1, start[1]);
  o.theta = Eigen::MatrixXd::Constant(1, 1, start[2] / variance);
  o.V = Eigen::MatrixXd::Constant(1, 1, start[3] / variance);
  return o;
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  results::Output output = arguments.run.open_output(context);
  results::Result result = new_result(arguments.learner, kOfErm, options, arguments.run, context);
  if (arguments.learner.bayes()) {
    solve_bayes(arguments, arguments.alpha, result);
    write_result(output, result, context);
    if (!arguments.run.quiet && !result.records.empty()) print_bayes_table(context, result.records);
    return exit_code(result.records);
  }
  if (arguments.trace) result.trace.emplace();

  const double variance = arguments.variance();
  const std::vector<phase::Branch> wanted = arguments.branches();
  std::optional<phase::Overlaps> start;
  if (!arguments.start.empty()) start = start_overlaps(arguments.start, variance);

  phase::SolveOptions solve = arguments.solve_options();
  solve.trace = arguments.trace;
  bool all_converged = true;
  Progress progress(context, arguments.run, arguments.omega.size() * arguments.alpha.size() * wanted.size());
  for (const double omega : arguments.omega) {
    const phase::Model model = arguments.model(omega);
    phase::BranchSolver solver(
        model, arguments.make_quadrature(model, static_cast<int>(arguments.run.threads)), solve);
    solver.set_interrupt(interrupted);
    for (const double alpha : arguments.alpha) {
      const bool done = until_interrupt([&] {
        std::vector<BranchSolution> solutions;
        for (const phase::Branch& branch : wanted) {
          solutions.push_back(solver.solve(alpha, branch, start));
          numerics::throw_if(interrupted);
          progress.done("phase solve: alpha " + short_number(alpha) + ", omega " + short_number(omega) +
                        ", " + branch.name);
        }
        std::vector<Json> records;
        for (const BranchSolution& s : solutions) {
          const bool absent = s.status == Status::branch_changed;
          all_converged =
              all_converged && (s.status == Status::converged || (absent && !arguments.branches_by_name()));
          records.push_back(results::phase_record(s, omega, variance, solver.quadrature()));
          if (result.trace) add_trace(*result.trace, s, omega, variance);
        }
        if (records.size() == phase::all_branches(static_cast<int>(arguments.rank)).size())
          results::mark_global_minimum(records);
        std::move(records.begin(), records.end(), std::back_inserter(result.records));
      });
      if (!done) result.missing.push_back("alpha " + to_text(alpha) + ", omega " + to_text(omega));
    }
  }
  write_result(output, result, context);
  if (!arguments.run.quiet && !result.records.empty())
    print_table(context.err, result.records, arguments.rank);
  return exit_code(all_converged);
}

}  // namespace

Command phase_solve() {
  return make_command<Arguments>(
      "phase", "solve", "Fixed points of the state evolution: overlaps, losses, error bars, stability",
      "qksolve phase solve --alpha 0.5:3:6 --omega 0.3 --tolerance 1e-5 -o branches.json", run);
}

}  // namespace qksolve::app
