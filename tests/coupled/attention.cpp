#include "qksolve/coupled/attention.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <stdexcept>

#include "qksolve/numerics/statistics.hpp"
#include "random_maps.hpp"

using namespace qksolve::coupled;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

std::map<std::string, Observation> by_name(const std::vector<Observation>& observations) {
  std::map<std::string, Observation> found;
  for (const Observation& x : observations) found[x.quantity] = x;
  return found;
}

}  // namespace

TEST_CASE("attention of two tokens worked out by hand") {
  State z{MatrixXd::Zero(2, 1), MatrixXd::Zero(2, 1)};
  z.q << 1, 0;
  z.k << std::log(3), 0;
  // Logits of query 1: log 3, 0; of query 2: 0, 0. Attention 3/4, 1/4 and 1/2, 1/2.
  const auto x = by_name(measure_attention(z, {}));
  CHECK(x.at("diagonal_logit_mean").measured == doctest::Approx(std::log(3) / 2));
  CHECK(x.at("diagonal_logit_variance").measured == doctest::Approx(std::log(3) * std::log(3) / 4));
  CHECK(x.at("offdiagonal_logit_mean").measured == doctest::Approx(0));
  CHECK(x.at("offdiagonal_logit_variance").measured == doctest::Approx(0));
  CHECK(x.at("entropy").measured ==
        doctest::Approx((std::log(2) - 0.75 * std::log(0.75) - 0.25 * std::log(0.25)) / 2));
  CHECK(x.at("concentration").measured == doctest::Approx(0.5 + 0.625));
  CHECK(x.at("self_attention").measured == doctest::Approx(1.25));
  // A' A = [[10, 8], [8, 8]]/16 up to order: trace 9/8, determinant 1/16.
  const double root = std::sqrt(81.0 / 64 - 0.25), first = std::sqrt((1.125 + root) / 2),
               second = std::sqrt((1.125 - root) / 2), p = first / (first + second);
  CHECK(x.at("sigma_1").measured == doctest::Approx(first));
  CHECK(x.at("sigma_ratio").measured == doctest::Approx(first / second));
  CHECK(x.at("effective_rank").measured ==
        doctest::Approx(std::exp(-p * std::log(p) - (1 - p) * std::log(1 - p))));
  CHECK_THROWS_AS(measure_attention({z.q.topRows(1), z.k.topRows(1)}, {}), std::invalid_argument);
}

TEST_CASE("logits that overflow exp make attention all the same") {
  State z{MatrixXd::Constant(3, 1, 1e3), MatrixXd::Zero(3, 1)};
  z.k << 1, 0, 0;
  const auto x = by_name(measure_attention(z, {}));
  CHECK(x.at("entropy").measured == doctest::Approx(0));
  CHECK(x.at("concentration").measured == doctest::Approx(3));
}

TEST_CASE("the logits of one Euler step have the predicted moments") {
  // Exact in law at any d: means over draws within 5 standard errors.
  const int d = 16, draws = 100, context = 60;
  for (const CouplingKind kind : {CouplingKind::mlp, CouplingKind::gradient, CouplingKind::linear}) {
    CAPTURE(coupling_name(kind));
    const Map map = random_map(Integrator::euler, kind, d, 1, 0.5, 2);
    const State reference{draw_normals(random_stream(1, 0, Purpose::reference_queries), 100000, d),
                          draw_normals(random_stream(1, 0, Purpose::reference_keys), 100000, d)};
    const auto predicted = predict_attention(map, reference, context, true);
    for (std::size_t i = 0; i < 4; ++i) {
      VectorXd measured(draws);
      std::string name;
      for (int draw = 0; draw < draws; ++draw) {
        const Observation x = measure_attention(
            evolve(map, random_state(context, d, 100 + static_cast<std::uint64_t>(draw))), {})[i];
        measured[draw] = x.measured;
        name = x.quantity;
      }
      const auto mean = qksolve::numerics::mean_estimate(measured);
      CAPTURE(name);
      CAPTURE(mean.mean);
      CAPTURE(*predicted[i]);
      // The population variance of `context` values is low by 1/context; allowed for.
      const double bias = name == "diagonal_logit_variance" ? *predicted[i] / context : 0;
      CHECK(std::abs(mean.mean + bias - *predicted[i]) < 5 * *mean.error);
    }
  }
}

TEST_CASE("predictions of standard attention") {
  const State reference = random_state(20000, 64, 3);
  const Map map = random_map(Integrator::standard, CouplingKind::mlp, 64, 1, 0.3, 1);
  const auto x = predict_attention(map, reference, 1024, true);
  CHECK(*x[0] == doctest::Approx(0).epsilon(0.05));
  CHECK(*x[3] == doctest::Approx(1).epsilon(0.05));
  CHECK(*x[4] == doctest::Approx(std::log(1024) - 0.5).epsilon(0.05));
  CHECK(*x[8] == doctest::Approx(1024.0 * 8 / (40 * 40)));
  CHECK(!x[9]);
  const auto unknown = predict_attention(map, reference, 1024, false);
  CHECK(!unknown[0]);
  CHECK(unknown[3]);
}

TEST_CASE("orders of the energy error, measured") {
  for (const CouplingKind kind : {CouplingKind::gradient, CouplingKind::harmonic})
    for (const auto& [integrator, order] :
         {std::pair{Integrator::euler, 1.0}, {Integrator::semi_implicit, 1.0}, {Integrator::leapfrog, 2.0}})
      for (const int steps : {1, 3}) {
        CAPTURE(integrator_name(integrator));
        CAPTURE(coupling_name(kind));
        const Map map = random_map(integrator, kind, 8, steps, 0.3, 4);
        const Observation x = by_name(observe_dynamics(map, random_state(50, 8, 1))).at("energy_order");
        CHECK(*x.predicted == order);
        CHECK(std::abs(x.measured - order) <= 2 * x.measured_error + 1e-3);
        CHECK(x.measured_error < 0.1);
      }
}

TEST_CASE("an order is measured only where the change of the energy is above rounding") {
  for (const CouplingKind kind : {CouplingKind::gradient, CouplingKind::harmonic})
    for (const auto& [integrator, order] :
         {std::pair{Integrator::euler, 1.0}, {Integrator::semi_implicit, 1.0}, {Integrator::leapfrog, 2.0}})
      for (int exponent = 1; exponent <= 30; ++exponent) {
        const double h = std::ldexp(1.0, -exponent);
        CAPTURE(integrator_name(integrator));
        CAPTURE(coupling_name(kind));
        CAPTURE(h);
        const Observation x =
            by_name(observe_dynamics(random_map(integrator, kind, 8, 1, h, 4), random_state(50, 8, 1)))
                .at("energy_order");
        // Second order in h, down to some 1e-14: about 1e-6 for Euler steps, third order otherwise.
        if (exponent <= 5) CHECK(x.unknown.empty());
        if (exponent >= 28) CHECK(!x.unknown.empty());
        if (x.unknown.empty()) CHECK(std::abs(x.measured - order) <= 2 * x.measured_error + 0.01);
      }
}

TEST_CASE("the error of the energy's change bounds its rounding") {
  // Leapfrog keeps |k|^2 + w^2 (1 - h^2 w^2/4) |q|^2 of the harmonic coupling, so H changes by
  // h^2 w^4/8 times the change of |q|^2.
  const State start = random_state(50, 8, 1);
  for (const double h : {0.3, 1e-2, 1e-4, 1e-6})
    for (const int steps : {1, 20}) {
      CAPTURE(h);
      Map map = random_map(Integrator::leapfrog, CouplingKind::harmonic, 8, steps, h, 4);
      const double w = map.coupling.frequency;
      const Observation drift = by_name(observe_dynamics(map, start)).at("energy_drift");
      const double grown = (evolve(map, start).q.squaredNorm() - start.q.squaredNorm()) / 50;
      CHECK(std::abs(drift.measured - h * h * std::pow(w, 4) / 8 * grown) <= drift.measured_error);
      CHECK(drift.measured_error < 1e-11);
    }
}

TEST_CASE("without force what is predicted is found within the errors of rounding") {
  for (const CouplingKind kind : {CouplingKind::mlp, CouplingKind::gradient, CouplingKind::linear})
    for (const Integrator integrator : kIntegrators)
      for (const int steps : {1, 5}) {
        CAPTURE(integrator_name(integrator));
        Map map = random_map(integrator, kind, 8, steps, 0.3, 4);
        map.coupling = draw_coupling({kind, 8, 8, 0.0});
        for (const Observation& x : observe_dynamics(map, random_state(50, 8, 1))) {
          CAPTURE(x.quantity);
          if (x.quantity == "energy_order")
            CHECK(!x.unknown.empty());
          else
            CHECK(std::abs(x.measured - x.predicted.value_or(0)) <= x.measured_error);
        }
      }
}

TEST_CASE("leading orders become exact as the step shrinks") {
  for (const Integrator integrator : {Integrator::euler, Integrator::semi_implicit, Integrator::leapfrog}) {
    const State start = random_state(10, 6, 3);
    auto off = [&](double h) {
      double largest = 0;
      for (const Observation& x :
           observe_dynamics(random_map(integrator, CouplingKind::gradient, 6, 1, h, 2), start))
        if (x.predicted && x.quantity != "energy_order")
          largest = std::max(largest, std::abs(x.measured / *x.predicted - 1));
      return largest;
    };
    CAPTURE(integrator_name(integrator));
    CHECK(off(0.01) < 0.05);
    CHECK(off(0.01) / off(0.005) == doctest::Approx(2).epsilon(0.1));
  }
}
