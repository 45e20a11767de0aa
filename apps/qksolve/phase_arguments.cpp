#include "phase_arguments.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "cli/usage.hpp"
#include "qksolve/phase/general/random_quadrature.hpp"
#include "qksolve/phase/two_token/jump_quadrature.hpp"
#include "qksolve/phase/two_token/teacher.hpp"

namespace qksolve::app {

namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<double> row_by_row(const Eigen::MatrixXd& m) {
  const Eigen::MatrixXd transposed = m.transpose();
  return {transposed.data(), transposed.data() + transposed.size()};
}

std::string list(const double* values, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? "," : "") + to_text(values[i]);
  return text;
}

[[noreturn]] void refuse_count(const std::string& option, const std::vector<double>& values,
                               const std::string& expected, std::int64_t tokens) {
  throw UsageError("--" + option + ": '" + list(values.data(), values.size()) +
                   "' is not allowed, expected " + expected + " for --tokens " + std::to_string(tokens));
}

// Of a list of rows; a plain list has no shape of its own.
void require_shape(const std::string& option, const Matrix& matrix, std::size_t rows,
                   std::optional<std::size_t> columns) {
  if (matrix.rows == 0) return;
  const std::size_t found = matrix.entries.size() / matrix.rows;
  if (matrix.rows == rows && found == columns.value_or(found)) return;
  throw UsageError(matrix.place + ": --" + option + ": " + std::to_string(matrix.rows) + " x " +
                   std::to_string(found) + " entries are not allowed, expected " + std::to_string(rows) +
                   (columns ? " x " + std::to_string(*columns) : " rows") + " for --tokens " +
                   std::to_string(rows));
}

// L x L entries as they are, or from two of them, diagonal and off, or the default from none.
std::vector<double> full_teacher_matrix(const std::vector<double>& given, std::int64_t tokens) {
  const auto L = static_cast<std::size_t>(tokens);
  if (given.size() == L * L) return given;
  if (!given.empty() && given.size() != 2)
    refuse_count("teacher-matrix", given, std::to_string(L * L) + " values in [0, 1], or diagonal,off,",
                 tokens);
  Eigen::MatrixXd A =
      Eigen::MatrixXd::Constant(tokens, tokens, given.empty() ? 0.4 / static_cast<double>(L - 1) : given[1]);
  A.diagonal().setConstant(given.empty() ? 0.6 : given[0]);
  return row_by_row(A);
}

void require_stochastic_rows(const std::vector<double>& teacher_matrix, std::int64_t tokens) {
  const auto L = static_cast<std::size_t>(tokens);
  for (std::size_t row = 0; row < L; ++row) {
    const double* entries = &teacher_matrix[row * L];
    const double sum = std::accumulate(entries, entries + L, 0.0);
    if (std::abs(sum - 1.0) > 1e-9)
      throw UsageError("--teacher-matrix: row " + std::to_string(row + 1) + " (" + list(entries, L) +
                       ") is not allowed, expected entries that sum to 1");
  }
}

}  // namespace

void PhaseArguments::declare_model(Options& options) {
  options.grid("omega", omega, {0.0, 1.0}, "Weight of the positional part of the teacher");
  // Beyond these the fourth power of sigma leaves the range of a double.
  options.text(
      "sigma", "REAL or LIST", "0.5", "Standard deviation of a token's entries, or one for each token",
      [this](const std::string& t) {
        sigma = parse_reals("--sigma", t, {1e-6, 1e6});
      },
      [this] { return sigma.size() == 1 ? results::Json(sigma[0]) : results::Json(sigma); });
  options.real("lambda", lambda, kPositive, "Ridge penalty");
  options.text(
      "tokens", "INT", "2, 2 to 64", "Tokens L of a sample",
      [this](const std::string& t) {
        if (t == "1")
          throw UsageError(
              "--tokens: '1' is not allowed, expected 2 to 64: the attention of a single token is 1, and its "
              "label says nothing");
        tokens = parse_integer("--tokens", t, 2, 64);
      },
      [this] { return results::Json(tokens); });
  options.integer("rank", rank, 1, 32, "Columns r of the student's Q");
  options.integer("teacher-rank", teacher_rank, 1, 32, "Columns of the teacher's Q*");
  options.matrix(
      "teacher-matrix", teacher_matrix, {0.0, 1.0}, "0.6 on the diagonal, the rest even",
      "Positional attention of the teacher, L x L entries in [0, 1] row by row with rows summing to 1, or "
      "diagonal,off");
  options.matrix("positional-matrix", positional_matrix, {}, "one direction, from 1 to -1 in even steps",
                 "Positional encoding B of the tokens, L x directions entries row by row");
}

void PhaseArguments::declare_branch(Options& options) {
  options.choices_or_all(
      "branch", branch, {"semantic", "positional", "uninformed", "mixed"},
      "Branches of fixed points; mixed, positional and semantic at once, needs --rank 2 or more");
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
  options.integer(
      "max-iterations", max_iterations, 1, 1000000,
      "Map evaluations allowed for one fixed point in all: starts, quadrature levels and stability");
  run.declare_seed(options);
}

void PhaseArguments::finish_model() {
  const auto L = static_cast<std::size_t>(tokens);
  if (sigma.size() != 1 && sigma.size() != L)
    refuse_count("sigma", sigma, "1 value or " + std::to_string(L), tokens);
  require_shape("teacher-matrix", teacher_matrix, L, L);
  require_shape("positional-matrix", positional_matrix, L, {});
  teacher_matrix.entries = full_teacher_matrix(teacher_matrix.entries, tokens);
  require_stochastic_rows(teacher_matrix.entries, tokens);
  std::vector<double>& encoding = positional_matrix.entries;
  if (encoding.size() % L != 0)
    refuse_count("positional-matrix", encoding, "a multiple of " + std::to_string(L) + " values", tokens);
  if (encoding.empty()) encoding = row_by_row(Eigen::VectorXd::LinSpaced(tokens, 1.0, -1.0));
}

void PhaseArguments::finish(const Options& options) {
  if (options.given("damping") && !options.given("iteration")) iteration = "damped";
  finish_model();
  if (rank == 1 && std::count(branch.begin(), branch.end(), "mixed") > 0)
    throw UsageError("--branch: 'mixed' is not allowed with --rank 1, expected --rank 2 or more");
  const bool encoded = std::any_of(positional_matrix.entries.begin(), positional_matrix.entries.end(),
                                   [](double b) { return b != 0; });
  for (const std::string& name : branch)
    if ((name == "mixed" || name == "positional") && !encoded)
      throw UsageError("--positional-matrix: all zero, but --branch " + name + " needs an encoding");
  const phase::Model general = model(omega.front());
  if (phase::is_two_token(general)) return;
  if (options.given("quadrature") && quadrature == "jump")
    throw UsageError(
        "--quadrature: jump needs --tokens 2, --rank 1, --teacher-rank 1, one --sigma and one "
        "positional direction, expected qmc");
  quadrature = "qmc";
  const std::int64_t coordinates = tokens * (rank + teacher_rank);
  if (coordinates > phase::kMostCoordinates)
    throw UsageError("--rank: tokens x (rank + teacher rank) = " + std::to_string(coordinates) +
                     " is not allowed, expected at most " + std::to_string(phase::kMostCoordinates));
}

phase::Model PhaseArguments::model(double omega_value) const {
  phase::Model model;
  model.tokens = static_cast<int>(tokens);
  model.rank = static_cast<int>(rank);
  model.teacher_rank = static_cast<int>(teacher_rank);
  model.sigma = sigma.size() == 1 ? Eigen::VectorXd::Constant(tokens, sigma[0])
                                  : Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(sigma.data(), tokens));
  model.lambda = lambda;
  model.omega = omega_value;
  model.teacher_matrix = Eigen::Map<const RowMajor>(teacher_matrix.entries.data(), tokens, tokens);
  model.positional_matrix =
      Eigen::Map<const RowMajor>(positional_matrix.entries.data(), tokens,
                                 static_cast<Eigen::Index>(positional_matrix.entries.size()) / tokens);
  model.validate();
  return model;
}

std::vector<phase::Branch> PhaseArguments::branches() const {
  if (!branches_by_name()) return phase::all_branches(static_cast<int>(rank));
  std::vector<phase::Branch> named;
  for (const std::string& name : branch) named.push_back(phase::branch_named(name));
  return named;
}

bool PhaseArguments::branches_by_name() const { return branch.front() != "all"; }

double PhaseArguments::variance() const {
  return Eigen::Map<const Eigen::ArrayXd>(sigma.data(), static_cast<Eigen::Index>(sigma.size()))
      .square()
      .mean();
}

phase::Quadrature PhaseArguments::make_quadrature(const phase::Model& model, int threads) const {
  return quadrature == "jump"
             ? phase::jump_quadrature(model, threads, interrupted)
             : phase::random_quadrature(model, phase::attention_loss(model),
                                        static_cast<std::uint64_t>(run.seed), threads, interrupted);
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
