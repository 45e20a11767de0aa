// Finite-size experiments as rows of a result.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "qksolve/phase/finite_size/experiment.hpp"
#include "qksolve/phase/finite_size/message_passing_path.hpp"
#include "qksolve/results/provenance.hpp"

namespace qksolve::results {

struct SimulationRows {
  std::vector<Json> records;              // one per run
  std::vector<Json> controlled;           // see summarize_simulation
  std::vector<Eigen::VectorXd> controls;  // likewise
  std::vector<Json> trace;
};

// Which run a row is of.
Json run_coordinates(const phase::Model& model, double alpha, const phase::Draw& draw,
                     const std::string& init, const std::string& optimizer);

// Of one instance; overlaps in the reporting convention, sigma times the square for q, theta and V. A
// converged run that started on one branch and clearly ended on the other is branch_changed.
SimulationRows simulation_rows(const phase::Model& model, double alpha, const phase::Draw& draw,
                               const std::string& optimizer, const phase::InstanceResult& result);

// Of the prediction for message passing from `init`: per step `iteration`, overlaps and `_error`.
std::vector<Json> prediction_rows(const phase::Model& model, phase::Init init,
                                  const std::vector<phase::PathPrediction>& path);

}  // namespace qksolve::results
