// Three tokens and rank two against reference values that were computed independently of this program.
#include <doctest/doctest.h>

#include <map>
#include <tuple>

#include "qksolve/phase/general/random_quadrature.hpp"
#include "qksolve/phase/report/phase_record.hpp"
#include "reference_table.hpp"

using namespace qksolve::phase;
using qksolve::results::Json;
using qksolve::test::number;
using qksolve::test::reference_table;
using qksolve::test::Row;

namespace {

Model model_of(int tokens, int rank, double omega) {
  Model model;
  model.tokens = tokens;
  model.rank = rank;
  model.omega = omega;
  model.sigma = Eigen::VectorXd::Constant(tokens, 0.5);
  model.teacher_matrix = Eigen::MatrixXd::Constant(tokens, tokens, 0.4 / (tokens - 1));
  model.teacher_matrix.diagonal().setConstant(0.6);
  model.positional_matrix = Eigen::VectorXd::LinSpaced(tokens, 1, -1);
  return model;
}

Json record_of(const Model& model, double alpha, const Branch& branch, double tolerance) {
  SolveOptions options;
  options.tolerance = tolerance;
  options.stability = false;
  const BranchSolver solver(model, random_quadrature(model, attention_loss(model), 1, 2), options);
  return qksolve::results::phase_record(solver.solve(alpha, branch), model.omega, 0.25, solver.quadrature());
}

}  // namespace

TEST_CASE("general attention: reference values within both error bars" * doctest::test_suite("slow")) {
  std::map<std::tuple<double, double, double, double, std::string>, std::vector<Row>> points;
  for (const Row& row : reference_table("general_attention.csv"))
    points[{number(row, "tokens"), number(row, "rank"), number(row, "alpha"), number(row, "omega"),
            row.at("branch")}]
        .push_back(row);
  REQUIRE(points.size() == 7);
  for (const auto& [point, rows] : points) {
    const auto& [tokens, rank, alpha, omega, branch] = point;
    CAPTURE(tokens);
    CAPTURE(alpha);
    CAPTURE(omega);
    CAPTURE(branch);
    const Json record = record_of(model_of(static_cast<int>(tokens), static_cast<int>(rank), omega), alpha,
                                  branch_named(branch), 3e-3);
    CHECK(record.at("status") == "converged");
    for (const Row& row : rows) {
      const std::string quantity = row.at("quantity");
      CAPTURE(quantity);
      // Errors of a record are three standard errors.
      const double error = 4 * number(row, "value_error") + record.at(quantity + "_error").get<double>();
      CHECK(std::abs(record.at(quantity).get<double>() - number(row, "value")) <= error);
    }
  }
}
