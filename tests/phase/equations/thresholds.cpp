// Thresholds in alpha.
#include "qksolve/phase/equations/thresholds.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "qksolve/phase/two_token/jump_quadrature.hpp"

using namespace qksolve::phase;

namespace {

std::vector<Threshold> find(double omega, const std::vector<std::string>& which, double low = 0.05,
                            double high = 10) {
  Model model;
  model.omega = omega;
  ThresholdOptions options;
  options.alpha_low = low;
  options.alpha_high = high;
  return find_thresholds(model, jump_quadrature(model, 2), options, which);
}

}  // namespace

TEST_CASE("no crossing in the range: no_bracket with the differences at both ends") {
  const auto found = find(0.3, {"alpha_c", "alpha_l"}, 2, 3);
  REQUIRE(found.size() == 2);
  for (const Threshold& t : found) {
    CHECK(t.status == ThresholdStatus::no_bracket);
    CHECK_FALSE(t.value);
    CHECK(*t.bracket_low == 2);
    CHECK(*t.bracket_high == 3);
    // Semantic is lower, and better than the baseline, at both ends.
    CHECK(*t.difference_low < 0);
    CHECK(*t.difference_high < 0);
  }
}

TEST_CASE("alpha_c and alpha_l along omega" * doctest::test_suite("slow")) {
  // This project's theory note, independent computation: .615 .751 .948 1.2515(3) 1.7715 and .7465
  // .893 1.117 1.492.
  const std::vector<double> omegas{0, 0.1, 0.2, 0.3, 0.4}, alpha_c{0.615, 0.751, 0.948, 1.2515, 1.7715},
      alpha_l{0.7465, 0.893, 1.117, 1.492};
  for (std::size_t i = 0; i < omegas.size(); ++i) {
    const auto found = find(omegas[i], {"alpha_c", "alpha_l"});
    CAPTURE(omegas[i]);
    for (const Threshold& t : found) {
      REQUIRE(t.status == ThresholdStatus::converged);
      CHECK(*t.error <= 1e-3 * *t.value);
    }
    CHECK(std::abs(*found[0].value - alpha_c[i]) < 1.5e-3 + *found[0].error);
    if (i < alpha_l.size()) CHECK(std::abs(*found[1].value - alpha_l[i]) < 1e-3 + *found[1].error);
    // At alpha_c the energies are those of two different states.
    CHECK(*found[1].value > *found[0].value);
  }
}

TEST_CASE("limits of existence and stability meet where a branch bifurcates continuously" *
          doctest::test_suite("slow")) {
  // At omega = .3 the positional branch leaves the uninformed one where m begins to grow from zero.
  const auto found = find(0.3, {"positional_exists"}, 0.02, 2);
  REQUIRE(found.size() == 1);
  if (found[0].value) {
    CHECK(found[0].limit == "lower");
    Model model;
    SolveOptions options;
    options.tolerance = 1e-3;
    const BranchSolver solver(model, jump_quadrature(model, 2), options);
    const BranchSolution below = solver.solve(0.9 * *found[0].value, kUninformed);
    const BranchSolution above = solver.solve(1.1 * *found[0].value, kUninformed);
    CHECK(below.growth_m->value < 1);
    CHECK(above.growth_m->value > 1);
  }
}

TEST_CASE("the positional branch loses stability against theta at the limit that is reported" *
          doctest::test_suite("slow")) {
  const auto found = find(0.1, {"positional_stable"}, 0.7, 1.2);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].status == ThresholdStatus::converged);
  CHECK(found[0].limit == "upper");
  Model model;
  model.omega = 0.1;
  SolveOptions options;
  options.tolerance = 1e-3;
  const BranchSolver solver(model, jump_quadrature(model, 2), options);
  const BranchSolution below = solver.solve(0.97 * *found[0].value, kPositional);
  const BranchSolution above = solver.solve(1.03 * *found[0].value, kPositional);
  CHECK(std::max(below.growth_m->value, below.growth_theta->value) < 1);
  CHECK(std::max(above.growth_m->value, above.growth_theta->value) > 1);
}
