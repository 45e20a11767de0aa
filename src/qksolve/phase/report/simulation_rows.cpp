#include "qksolve/phase/report/simulation_rows.hpp"

#include <cmath>

#include "qksolve/phase/report/phase_record.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::results {

using numerics::MinimizerStatus;

namespace {

// Entry by entry, name_1_1, name_1_2, ...
void put_matrix(Json& record, const std::string& name, const Eigen::MatrixXd& matrix, double factor) {
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    for (Eigen::Index j = 0; j < matrix.cols(); ++j)
      put(record, name + "_" + std::to_string(i + 1) + "_" + std::to_string(j + 1), factor * matrix(i, j));
}

// A scalar overlap with its sign; of matrices the entries, and what no rotation of Q's columns changes.
void put_found(Json& record, const phase::Overlaps& o, double variance,
               const phase::Overlaps* errors = nullptr) {
  results::put_overlaps(record, o, variance, errors);
  if (o.m.size() == 1) put(record, "m", o.m(0, 0));
  if (o.theta.size() == 1) put(record, "theta", variance * o.theta(0, 0));
  if (o.q.size() > 1) put_matrix(record, "q", o.q, variance);
  if (o.m.size() > 1) put_matrix(record, "m", o.m, 1.0);
  if (o.theta.size() > 1) put_matrix(record, "theta", o.theta, variance);
}

void put_status(Json& record, const phase::Run& run, const std::string& optimizer) {
  const bool changed = run.status == MinimizerStatus::converged && run.init != phase::Init::random &&
                       run.branch_found && *run.branch_found != run.init;
  if (changed) {
    record["status"] = "branch_changed";
    record["reason"] = "the run ended on the branch of another start";
  } else if (run.status == MinimizerStatus::converged) {
    record["status"] = "converged";
  } else if (run.status == MinimizerStatus::non_finite) {
    record["status"] = "non_finite";
    record["reason"] =
        "a value overflowed; the last good step is reported (a smaller learning rate may help)";
  } else {
    record["status"] = "iteration_limit";
    record["reason"] = optimizer != "amp"  ? "the gradient is above the tolerance after the steps allowed"
                       : run.switching > 0 ? "samples still switch between the wells of their proximal map "
                                             "(`switching` of them), which keeps "
                                             "the iteration from settling: replica symmetry does not hold"
                                           : "the residual is above the tolerance after the steps allowed";
  }
  if (run.branch_found) record["branch_found"] = phase::init_name(*run.branch_found);
}

}  // namespace

Json run_coordinates(const phase::Model& model, double alpha, const phase::Draw& draw,
                     const std::string& init, const std::string& optimizer) {
  Json record;
  record["alpha"] = alpha;
  record["omega"] = model.omega;
  record["d"] = draw.dimension;
  record["seed"] = draw.seed;
  record["instance"] = draw.instance;
  record["init"] = init;
  record["optimizer"] = optimizer;
  return record;
}

SimulationRows simulation_rows(const phase::Model& model, double alpha, const phase::Draw& draw,
                               const std::string& optimizer, const phase::InstanceResult& result) {
  const double variance = model.sigma.cwiseAbs2().mean();
  SimulationRows rows;
  for (const phase::Run& run : result.runs) {
    const Json at = run_coordinates(model, alpha, draw, phase::init_name(run.init), optimizer);
    Json record = at;
    put_status(record, run, optimizer);
    put(record, "train_loss", run.train_loss);
    put(record, "train_loss_limit", run.train_loss - run.positional_part);
    put(record, "gen_error", run.test.student);
    put(record, "gen_error_error", run.test.student_error);
    put(record, "gen_error_limit", run.conditional_test_error);
    put(record, "gen_error_linear", run.test.linear);
    put_found(record, run.overlaps, variance);
    if (run.minimum_response) {
      put(record, "V", variance * run.minimum_response->V);
      put(record, "V_error", variance * run.minimum_response->V_error);
      put(record, "trapped_share", run.minimum_response->trapped_share);
    }
    if (optimizer == "amp") record["switching"] = run.switching;
    record["iterations"] = run.iterations;
    put(record, "gradient_norm", run.gradient_norm);
    rows.records.push_back(record);

    Json controlled;
    put(controlled, "train_loss", run.train_loss);
    put(controlled, "train_loss_limit", run.train_loss - run.positional_part);
    // The noise of the fresh samples is that of the limit's form, whose mean is known.
    if (run.conditional_test_error) {
      put(controlled, "gen_error", run.test.student - run.test.limit_form + *run.conditional_test_error);
      put(controlled, "gen_error_limit", *run.conditional_test_error);
    }
    rows.controlled.push_back(controlled);
    rows.controls.push_back(result.controls);
    for (const phase::TrajectoryPoint& point : run.trajectory) {
      Json step = at;
      step["iteration"] = point.iteration;
      put(step, "train_loss", point.train_loss);
      put_found(step, point.overlaps, variance);
      put(step, "gradient_norm", point.gradient_norm);
      rows.trace.push_back(step);
    }
  }
  return rows;
}

std::vector<Json> prediction_rows(const phase::Model& model, phase::Init init,
                                  const std::vector<phase::PathPrediction>& path) {
  const double variance = model.sigma.cwiseAbs2().mean();
  const phase::Overlaps& last = path.back().overlaps;
  // As in a record: the overlap of the start is positive at the end.
  const double sign = (init == phase::Init::positional ? last.m : last.theta)(0, 0) < 0 ? -1.0 : 1.0;
  std::vector<Json> rows;
  for (const phase::PathPrediction& at : path) {
    Json row;
    row["iteration"] = rows.size();
    phase::Overlaps overlaps = at.overlaps;
    overlaps.theta *= sign;
    overlaps.m *= sign;
    put_found(row, overlaps, variance, &at.error);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace qksolve::results
