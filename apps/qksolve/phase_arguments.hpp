// The options that all `phase` commands share, and what they build from them.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"
#include "qksolve/phase/branches.hpp"
#include "qksolve/phase/model.hpp"

namespace qksolve::app {

// Throws UsageError unless the rows of the L x L teacher matrix sum to 1.
void require_stochastic_rows(const std::vector<double>& teacher_matrix, std::size_t tokens);

struct PhaseArguments {
  std::vector<double> omega{0.3};
  double sigma = 0.5, lambda = 0.01;
  std::vector<double> teacher_matrix{0.6, 0.4, 0.4, 0.6};
  double tolerance = 1e-4, damping = 0.8;
  std::int64_t max_iterations = 500;
  std::string quadrature = "jump", response = "total", iteration = "accelerated";
  RunArguments run;

  void declare_scales(Options& options);  // omega, sigma, lambda
  void declare_model(Options& options);   // these and the teacher matrix of two tokens
  void declare_solver(Options& options, const std::string& tolerance_meaning);
  // After Options::resolve: what depends on several options. Throws UsageError.
  void finish(const Options& options);

  phase::Model model(double omega_value) const;
  phase::Quadrature make_quadrature(const phase::Model& model, int threads) const;
  phase::SolveOptions solve_options() const;
};

}  // namespace qksolve::app
