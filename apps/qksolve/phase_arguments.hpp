// The options that all `phase` commands share, and what they build from them.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "qksolve/phase/equations/branches.hpp"
#include "qksolve/phase/model.hpp"

namespace qksolve::app {

struct PhaseArguments {
  std::vector<double> omega{0.3}, sigma{0.5};  // sigma: one for all tokens, or one for each
  double lambda = 0.01;
  std::int64_t tokens = 2, rank = 1, teacher_rank = 1;
  Matrix teacher_matrix, positional_matrix;  // until `finish` empty where not given
  double tolerance = 1e-4, damping = 0.8;
  std::int64_t max_iterations = 500;
  std::vector<std::string> branch{"all"};
  std::string quadrature = "jump", response = "total", iteration = "accelerated";
  RunArguments run;

  void declare_model(Options& options);
  void declare_branch(Options& options);
  void declare_solver(Options& options, const std::string& tolerance_meaning);
  // After Options::resolve: the model. Throws UsageError where its parts do not fit together.
  void finish_model();
  // The same, and what the solver's options mean for this model.
  void finish(const Options& options);

  phase::Model model(double omega_value) const;
  // Mean over the tokens of sigma_l^2, the unit of the table's overlaps.
  double variance() const;
  std::vector<phase::Branch> branches() const;  // those asked for
  bool branches_by_name() const;                // and not by `all`
  phase::Quadrature make_quadrature(const phase::Model& model, int threads) const;
  phase::SolveOptions solve_options() const;
};

}  // namespace qksolve::app
