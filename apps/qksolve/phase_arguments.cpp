#include "phase_arguments.hpp"

#include <cmath>

#include "qksolve/phase/jump_quadrature.hpp"
#include "qksolve/phase/random_quadrature.hpp"
#include "usage.hpp"

namespace qksolve::app {

void require_stochastic_rows(const std::vector<double>& teacher_matrix, std::size_t tokens) {
  for (std::size_t row = 0; row < tokens; ++row) {
    double sum = 0;
    std::string entries;
    for (std::size_t column = 0; column < tokens; ++column) {
      const double entry = teacher_matrix[row * tokens + column];
      sum += entry;
      if (column > 0) entries += ',';
      entries += to_text(entry);
    }
    if (std::abs(sum - 1.0) > 1e-9)
      throw UsageError("--teacher-matrix: row " + std::to_string(row + 1) + " (" + entries +
                       ") is not allowed, expected entries that sum to 1");
  }
}

void PhaseArguments::declare_scales(Options& options) {
  options.grid("omega", omega, {0.0, 1.0}, "Weight of the positional part of the teacher");
  // Beyond these the fourth power of sigma leaves the range of a double.
  options.real("sigma", sigma, {1e-6, 1e6}, "Standard deviation of a token's entries");
  options.real("lambda", lambda, kPositive, "Ridge penalty");
}

void PhaseArguments::declare_model(Options& options) {
  declare_scales(options);
  options.reals("teacher-matrix", teacher_matrix, {0.0, 1.0},
                "Positional attention a11,a12,a21,a22 of the teacher, rows summing to 1");
}

void PhaseArguments::declare_solver(Options& options, const std::string& tolerance_meaning) {
  options.real("tolerance", tolerance, {1e-7, 0.1}, tolerance_meaning);
  options.choice("quadrature", quadrature, {"jump", "qmc"},
                 "Deterministic rule that follows the jumps, or randomised quasi-Monte-Carlo");
  options.choice("response", response, {"total", "classical"},
                 "Closure for V: with or without the jumps of the proximal map");
  options.choice(
      "iteration", iteration, {"accelerated", "damped"},
      "Damped start, then Anderson and Newton; or damped steps only (what --damping alone selects)");
  options.real("damping", damping, {0.0, 1.0, false, true},
               "Weight of the old value; given alone it selects plain damped iteration with this weight");
  options.integer("max-iterations", max_iterations, 1, 1000000,
                  "Map evaluations allowed for one fixed point on one quadrature level");
  run.declare_seed(options);
}

void PhaseArguments::finish(const Options& options) {
  if (options.given("damping") && !options.given("iteration")) iteration = "damped";
  require_stochastic_rows(teacher_matrix, 2);
}

phase::Model PhaseArguments::model(double omega_value) const {
  phase::Model model;
  model.sigma.setConstant(sigma);
  model.lambda = lambda;
  model.omega = omega_value;
  model.teacher_matrix << teacher_matrix[0], teacher_matrix[1], teacher_matrix[2], teacher_matrix[3];
  model.validate();
  return model;
}

phase::Quadrature PhaseArguments::make_quadrature(const phase::Model& model, int threads) const {
  return quadrature == "jump"
             ? phase::jump_quadrature(model, threads)
             : phase::random_quadrature(model, static_cast<std::uint64_t>(run.seed), threads);
}

phase::SolveOptions PhaseArguments::solve_options() const {
  phase::SolveOptions solve;
  solve.tolerance = tolerance;
  solve.damping = damping;
  solve.max_iterations = static_cast<int>(max_iterations);
  solve.method =
      iteration == "damped" ? numerics::FixedPointMethod::damped : numerics::FixedPointMethod::accelerated;
  solve.response = response == "classical" ? phase::Response::classical : phase::Response::total;
  return solve;
}

}  // namespace qksolve::app
