#include "qksolve/coupled/experiment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "qksolve/coupled/draws.hpp"

using namespace qksolve::coupled;
using Eigen::MatrixXd;

namespace {

Experiment small() {
  Experiment e;
  for (const Integrator integrator : kIntegrators)
    e.settings.push_back({integrator, CouplingKind::mlp, 0.3, 1});
  e.contexts = {16, 40};
  e.dimension = e.hidden = 8;
  e.draws = 4;
  return e;
}

const Finding& find(const std::vector<Finding>& all, Integrator integrator, const std::string& quantity,
                    std::optional<int> context) {
  for (const Finding& f : all)
    if (f.setting.integrator == integrator && f.quantity == quantity && f.context == context) return f;
  throw std::runtime_error("no " + quantity);
}

bool same(const Finding& a, const Finding& b) {
  return a.quantity == b.quantity && a.context == b.context && a.measured == b.measured &&
         a.measured_error == b.measured_error && a.predicted == b.predicted && a.difference == b.difference &&
         a.difference_error == b.difference_error;
}

}  // namespace

TEST_CASE("findings do not depend on the number of threads, and count up to the tasks") {
  std::size_t done = 0;
  const auto one = run_experiment(small(), 1, {}, [&](const Setting&, std::optional<int>) { ++done; }),
             three = run_experiment(small(), 3);
  CHECK(done == task_count(small()));
  REQUIRE(one.size() == three.size());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(same(one[i], three[i]));
  for (const Finding& f : one) CHECK(f.verdict == Verdict::converged);
}

TEST_CASE("an interrupted run has what was complete") {
  const auto whole = run_experiment(small(), 1);
  const std::size_t tasks = task_count(small());
  for (const std::size_t stop : {tasks / 2, tasks - 1}) {
    std::size_t finished = 0;
    const auto findings = run_experiment(
        small(), 1, [&] { return finished >= stop; },
        [&](const Setting&, std::optional<int>) { ++finished; });
    CHECK(finished == stop);
    CHECK(!findings.empty());
    CHECK(findings.size() < whole.size());
    for (const Finding& f : findings)
      CHECK(std::any_of(whole.begin(), whole.end(), [&](const Finding& g) { return same(f, g); }));
  }
}

TEST_CASE("a task is interrupted anywhere") {
  Experiment e = small();
  int asked = 0;
  const auto never = [&] {
    ++asked;
    return false;
  };
  const std::size_t expected = run_experiment(e, 1, never).size();
  const int total = asked;
  CHECK(total > static_cast<int>(20 * task_count(e)));
  for (const int stop : {1, total / 3, total - 1}) {
    asked = 0;
    CHECK(run_experiment(e, 1, [&] { return ++asked > stop; }).size() < expected);
    CHECK(asked <= stop + 2);  // what was under way is given up
  }
}

TEST_CASE("at step size zero every integrator is standard attention") {
  Experiment e = small();
  for (Setting& setting : e.settings) setting.step_size = 0;
  const auto findings = run_experiment(e, 1);
  for (const Finding& f : findings)
    if (f.context) CHECK(f.measured == find(findings, Integrator::standard, f.quantity, f.context).measured);
  for (const Finding& f : findings) CHECK(f.verdict == Verdict::converged);
}

TEST_CASE("projections replace independent queries and keys") {
  Experiment e = small();
  e.projections = Projections{MatrixXd::Identity(8, 8), MatrixXd::Identity(8, 8)};
  e.settings = {{Integrator::standard, CouplingKind::mlp, 0.3, 1}};
  const auto findings = run_experiment(e, 1);
  // q = k: the diagonal logit is |x|^2/sqrt d, mean sqrt d, variance 2.
  const Finding& mean = find(findings, Integrator::standard, "diagonal_logit_mean", 40);
  CHECK(std::abs(*mean.measured - std::sqrt(8)) < 5 * *mean.measured_error);
  CHECK(!mean.predicted);
  const Finding& variance = find(findings, Integrator::standard, "offdiagonal_logit_variance", 40);
  CHECK(std::abs(*variance.difference) < 5 * *variance.difference_error);
}

TEST_CASE("a run that overflows says so") {
  Experiment e = small();
  e.settings = {{Integrator::euler, CouplingKind::linear, 1e3, 400}};
  e.contexts.clear();
  bool non_finite = false;
  for (const Finding& f : run_experiment(e, 1)) non_finite = non_finite || f.verdict == Verdict::non_finite;
  CHECK(non_finite);
}

// Theory note, d = 64, T = 1024: effective ranks of its own random network, standard and uncoupled 579 and
// 586, Euler 600, leapfrog 593, gap of standard attention 5.85. Effective rank and diagonal depend on the
// network only weakly; the gaps of the others do, and are not compared.
TEST_CASE("the note's spectra at 1024 tokens, within the scatter of draws" * doctest::test_suite("slow")) {
  Experiment e;
  for (const Integrator integrator : kIntegrators)
    e.settings.push_back({integrator, CouplingKind::mlp, 0.3, 1});
  e.contexts = {1024};
  const auto findings = run_experiment(e, 2);
  const double noted[] = {579, 600, 600, 593, 586};
  for (std::size_t i = 0; i < 5; ++i) {
    const Finding& f = find(findings, kIntegrators[i], "effective_rank", 1024);
    CAPTURE(*f.measured);
    CAPTURE(*f.measured_error);
    // One draw scatters by sqrt(8) times the error of the mean of eight.
    CHECK(std::abs(*f.measured - noted[i]) < 3 * std::sqrt(8) * *f.measured_error);
  }
  const Finding& gap = find(findings, Integrator::standard, "sigma_ratio", 1024);
  CHECK(std::abs(*gap.measured - 5.85) < 3 * std::sqrt(8) * *gap.measured_error);
  // What marks coupling.
  const Finding &euler = find(findings, Integrator::euler, "diagonal_logit_mean", 1024),
                &uncoupled = find(findings, Integrator::uncoupled, "diagonal_logit_mean", 1024);
  CHECK(*euler.measured == doctest::Approx(2.4).epsilon(0.1));
  CHECK(std::abs(*uncoupled.measured) < 0.2);
  CHECK(std::abs(*euler.difference) < 5 * *euler.difference_error);
}
