// The Bayes-optimal limit in the overlap: integrals against their definition and their closed forms, fixed
// points, thresholds.
#include "qksolve/phase/equations/bayes_optimal/state_evolution.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "qksolve/numerics/gauss_rules.hpp"
#include "qksolve/numerics/quasi_random.hpp"

using namespace qksolve;
using namespace qksolve::phase::bayes;
using Eigen::VectorXd;

TEST_CASE("two tokens: the closed form is the Bessel integral") {
  const double pi = std::numbers::pi, ln2 = std::numbers::ln2;
  CHECK(two_token_kernel(1) == doctest::Approx(ln2 + pi * pi / 24).epsilon(1e-14));
  const SignChannel channel(2);
  CHECK(channel.kernel(0) == doctest::Approx(2).epsilon(1e-13));
  for (const double q : {0.01, 0.05, 0.2, 0.5, 0.9, 0.999, 1.0})
    CHECK(channel.kernel(q) == doctest::Approx(two_token_kernel(q)).epsilon(1e-12));
  // On both sides of the place where one takes over from the other.
  for (const double q : {0.00999999, 0.0100001}) {
    CHECK(channel.information(q, 1 - q) == doctest::Approx(2 - (1 - q) * channel.kernel(q)).epsilon(1e-11));
    CHECK(channel.sign_entropy(q, 1 - q) == doctest::Approx(two_token_sign_entropy(q)).epsilon(1e-12));
  }
}

TEST_CASE("the entropy of the sign is half the integral of the kernel, from log 2 to 0") {
  const auto rule = numerics::gauss_legendre(240);
  for (const int L : {2, 3, 4, 8, 64}) {
    CAPTURE(L);
    const SignChannel channel(L);
    CHECK(channel.sign_entropy(0, 1) == doctest::Approx(std::numbers::ln2).epsilon(1e-12));
    CHECK(channel.sign_entropy(1, 0) == doctest::Approx(0));
    for (const double q : {0.0, 0.3, 0.8}) {
      // t = 1 - (1 - q) u^2 takes the root of 1 - t away.
      double integral = 0;
      for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
        const double u = 0.5 * (1 + rule.nodes[i]), rest = (1 - q) * u * u;
        integral +=
            0.5 * rule.weights[i] * 2 * (1 - q) * u * std::pow(rest, 0.5 * L - 1) * channel.kernel(1 - rest);
      }
      CHECK(channel.sign_entropy(q, 1 - q) == doctest::Approx(0.5 * integral).epsilon(1e-11));
    }
  }
}

TEST_CASE("information and entropy are those of the posterior with two atoms") {
  constexpr int kLog2 = 14, kReplicates = 16;
  constexpr std::size_t kPoints = std::size_t{1} << kLog2;
  for (const int L : {2, 3, 5})
    for (const double q : {0.05, 0.268, 0.5, 0.8, 0.97}) {
      CAPTURE(L);
      CAPTURE(q);
      const double V = 1 - q;
      VectorXd score(kReplicates), evidence(kReplicates);
      for (int r = 0; r < kReplicates; ++r) {
        const auto x = numerics::shifted_sobol_normals(2 * L, kLog2, 3, r);
        double sum = 0, log_sum = 0;
        for (std::size_t i = 0; i < kPoints; ++i) {
          VectorXd w(L), z(L);
          for (int l = 0; l < L; ++l) {
            const auto at = static_cast<std::size_t>(l) * kPoints + i;
            w(l) = std::sqrt(q) * x[at];
            z(l) = w(l) + std::sqrt(V) * x[at + static_cast<std::size_t>(L) * kPoints];
          }
          const SignPosterior posterior = sign_posterior(z, w, V);
          sum += (posterior.mean - w).squaredNorm() / V;
          // The label's entropy is that of z less that of its sign.
          log_sum += posterior.log_evidence + 0.5 * (z - w).squaredNorm() / V +
                     0.5 * L * std::log(2 * std::numbers::pi * V);
        }
        score(r) = sum / kPoints;
        evidence(r) = log_sum / kPoints;
      }
      const auto error = [](const VectorXd& v) {
        return std::sqrt((v.array() - v.mean()).square().sum() / (kReplicates * (kReplicates - 1.0)));
      };
      const SignChannel channel(L);
      CHECK(std::abs(score.mean() - channel.information(q, V)) < 4 * error(score));
      CHECK(std::abs(evidence.mean() - (channel.sign_entropy(q, V) - std::numbers::ln2)) <
            4 * error(evidence));
    }
}

TEST_CASE("overlap and free entropy of two and three tokens") {
  struct Row {
    double alpha, q, mse, free_entropy;
  };
  // This project's theory note, an independent computation.
  for (const Row& row : {Row{0.2, 0.0451504495, 0.9548495505, 0.0000284266},
                         {0.25, 0.1422215622, 0.8577784378, 0.0006022125},
                         {0.3, 0.2680106017, 0.7319893983, 0.0031173210},
                         {0.35, 0.4187333980, 0.5812666020, 0.0100056168},
                         {0.4, 0.5920116567, 0.4079883433, 0.0255733358},
                         {0.45, 0.7861796977, 0.2138203023, 0.0589888725},
                         {0.49, 0.9557129018, 0.0442870982, 0.1191063317},
                         {0.5, 1, 0, 0.1534264097}}) {
    CAPTURE(row.alpha);
    const Solution s = solve(2, row.alpha);
    CHECK(std::abs(s.state.q - row.q) < 1e-10);
    CHECK(std::abs(s.state.mse - row.mse) < 1e-10);
    CHECK(std::abs(s.free_entropy.value() - row.free_entropy) < 1e-10);
    CHECK(s.q_error < 1e-12);
    CHECK(s.free_entropy_error < 1e-13);
  }
  for (const auto& [alpha, q] : {std::pair{0.1, 0.0385918025},
                                 {0.15, 0.2149119238},
                                 {0.2, 0.4370077550},
                                 {0.25, 0.6675415193},
                                 {0.3, 0.8803438921}}) {
    CAPTURE(alpha);
    CHECK(std::abs(solve(3, alpha).state.q - q) < 1e-10);
  }
  for (const double alpha : {0.1, 0.15}) {
    CHECK(solve(2, alpha).state.q == 0);
    CHECK(solve(2, alpha).free_entropy.value() == 0);
  }
  for (const double alpha : {0.55, 1.0, 1e6}) {
    CHECK(solve(2, alpha).state.mse == 0);
    CHECK_FALSE(solve(2, alpha).free_entropy);
  }
  CHECK_THROWS_AS(solve(1, 0.5), std::invalid_argument);
  CHECK_THROWS_AS(solve(2, 0), std::invalid_argument);
}

TEST_CASE("the overlap leaves zero, and its error goes to zero, linearly") {
  // alpha = 1/6 + (17/18) q + ..., alpha = 1/2 (1 - (1 - K_2(1)/2) (1 - q) + ...)
  CHECK(solve(2, 1.0 / 6 + 1e-9).state.q == doctest::Approx(18e-9 / 17).epsilon(1e-6));
  const double slope = 0.5 * (1 - two_token_kernel(1) / 2);
  CHECK(solve(2, 0.5 - 1e-9).state.mse == doctest::Approx(1e-9 / slope).epsilon(1e-6));
}

TEST_CASE("the recursion ends at the fixed point, from either side") {
  for (const int L : {2, 3})
    for (const double place : {0.3, 0.6, 0.9}) {
      const double alpha = 1.0 / (L * (L + 1)) + place * (1.0 / L - 1.0 / (L * (L + 1)));
      const SignChannel channel(L);
      const double q = solve(L, alpha).state.q;
      for (State state : {State{1e-3, 0.999}, State{0.999, 1e-3}}) {
        for (int t = 0; t < 600; ++t) state = step(channel, alpha, state);
        CHECK(state.q == doctest::Approx(q).epsilon(1e-10));
      }
    }
  // Above 1/L the error shrinks by 1/(alpha L) a step.
  const SignChannel channel(2);
  State state{1e-3, 0.999};
  for (int t = 0; t < 40; ++t) state = step(channel, 1, state);
  CHECK(state.mse < 1e-8);
  CHECK(step(channel, 1, state).mse == doctest::Approx(0.5 * state.mse).epsilon(1e-6));
}

TEST_CASE("the free entropy is stationary at the fixed point, and largest there") {
  for (const int L : {2, 3}) {
    const double alpha = 0.7 / L;
    const SignChannel channel(L);
    const State at = solve(L, alpha).state;
    const auto value = [&](double q) { return free_entropy(channel, alpha, {q, 1 - q}).value(); };
    const double h = 1e-3;
    CHECK(std::abs(value(at.q + h) - value(at.q - h)) / (2 * h) < 1e-4);
    for (double q = 0; q < 1; q += 0.05) CHECK(value(q) <= value(at.q));
  }
}

TEST_CASE("from two tokens on alpha(q) increases: no hard phase; one token, phase retrieval, has one") {
  for (const int L : {2, 3, 4, 8, 24, 64}) {
    CAPTURE(L);
    const SignChannel channel(L);
    double last = 0;
    for (int i = 0; i <= 1000; ++i) {
      const double q = i / 1000.0, alpha = fixed_point_alpha(channel, {q, 1 - q});
      CHECK(alpha > last);
      last = alpha;
    }
    const Thresholds t = thresholds(L);
    CHECK(t.weak == doctest::Approx(1.0 / (L * (L + 1))).epsilon(1e-15));
    CHECK(fixed_point_alpha(channel, {1e-12, 1}) == doctest::Approx(t.weak).epsilon(1e-10));
    CHECK(t.algorithmic == t.it);
    CHECK(t.it == 1.0 / L);
    CHECK(t.linear_algebra == 1.0 / (L - 1));
  }
  // Known: the algorithms of phase retrieval need 1.128 (Barbier et al. 2019).
  CHECK(thresholds(1).algorithmic == doctest::Approx(1.12847141).epsilon(1e-8));
  CHECK(thresholds(1).weak == 0.5);
  CHECK(thresholds(1).it == 1);
}
