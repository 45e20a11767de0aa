#include <doctest/doctest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "flow/random_models.hpp"
#include "qksolve/flow/theory/invariant.hpp"
#include "qksolve/flow/theory/trajectory.hpp"

using namespace qksolve::flow;
using Route = Trajectory (*)(const Model&, const Request&);
using Quadrature = boost::math::quadrature::gauss_kronrod<double, 61>;

namespace {

double relative(double a, double b) {
  return a == b ? 0.0 : std::abs(a - b) / std::max(std::abs(a), std::abs(b));
}

std::vector<double> log_spaced(double first, double last, int count) {
  std::vector<double> times;
  for (int i = 0; i + 1 < count; ++i)
    times.push_back(first * std::pow(last / first, static_cast<double>(i) / (count - 1)));
  times.push_back(last);
  return times;
}

void check_agreement(const Model& model, double end) {
  Request request;
  request.times = log_spaced(1.0, end, 30);
  request.losses = {1.0, 0.1, 1e-3};
  request.end = end;
  const Trajectory a = closed_form(model, request), b = integrate(model, request);
  auto compare = [&](const Point& x, const Point& y) {
    CAPTURE(x.reason);
    CAPTURE(y.reason);
    CHECK(x.status == y.status);
    CHECK(x.status != Status::non_finite);
    CHECK(x.status != Status::failed);
    CHECK(relative(x.t, y.t) < 1e-10);
    CHECK(relative(x.u, y.u) < 1e-10);
    CHECK(relative(x.beta, y.beta) < 1e-10);
    CHECK(relative(x.attention, y.attention) < 1e-10);
    CHECK(relative(x.loss, y.loss) < 1e-10);
    CHECK(std::abs(x.u - y.u) <= 3 * (x.u_error + y.u_error));
    CHECK(std::abs(x.beta - y.beta) <= 3 * (x.beta_error + y.beta_error));
    CHECK(std::abs(x.t - y.t) <= 3 * (x.t_error + y.t_error));
    CHECK(x.drift < 1e-11);
    CHECK(y.drift < 1e-10);
  };
  for (std::size_t i = 0; i < request.times.size(); ++i) compare(a.at_times[i], b.at_times[i]);
  for (std::size_t i = 0; i < request.losses.size(); ++i) compare(a.at_losses[i], b.at_losses[i]);
}

}  // namespace

TEST_CASE("the reference trajectories are reproduced to 1e-9 by both routes") {
  std::ifstream file(std::string(QKSOLVE_REFERENCE_DIR) + "/flow_trajectories.json");
  const auto reference = nlohmann::json::parse(file);
  REQUIRE(reference["cases"].size() == 20);
  for (const auto& c : reference["cases"]) {
    CAPTURE(c.dump());
    Model model;
    model.task = {c["classes"],
                  c["pool"],
                  c["common"],
                  c["distinct_per_sequence"],
                  c["common_per_sequence"],
                  c["query"] == "paper" ? Query::paper : Query::shared};
    for (const Parameterization& p : kParameterizations)
      if (p.name() == c["parameterization"]) model.parameterization = p;
    model.eta_ov = c["eta_ov"];
    model.eta_qk = c["eta_qk"];
    model.imbalance_ov = c["imbalance_ov"];
    model.imbalance_qk = c["imbalance_qk"];
    model.start = {c["u0"], c["beta0"]};
    Request request;
    for (const auto& row : c["rows"]) request.times.push_back(row[0]);
    for (const auto& trajectory : {closed_form(model, request), integrate(model, request)})
      for (std::size_t i = 0; i < request.times.size(); ++i) {
        const Point& x = trajectory.at_times[i];
        const auto& row = c["rows"][i];
        CHECK(x.status == Status::converged);
        CHECK(relative(x.u, row[1]) < 1e-9);
        CHECK(relative(x.beta, row[2]) < 1e-9);
        CHECK(relative(x.attention, row[3]) < 1e-9);
        CHECK(relative(x.margin, row[4]) < 1e-9);
        CHECK(relative(x.loss, row[5]) < 1e-9);
      }
  }
}

TEST_CASE("the two routes agree to 1e-10 up to t = 1e12 and conserve the invariant") {
  std::mt19937_64 random(1);
  for (int draw = 0; draw < 10; ++draw)
    for (const Parameterization& parameterization : kParameterizations)
      for (const bool balanced : {true, false}) {
        CAPTURE(draw);
        CAPTURE(parameterization.name());
        CAPTURE(balanced);
        check_agreement(random_model(random, parameterization, balanced), 1e12);
      }
}

TEST_CASE("collapsed circuits and unbalanced products start from zero") {
  for (const Parameterization& parameterization : kParameterizations)
    for (const double imbalance : {1e-6, 1e-2, 50.0}) {
      CAPTURE(parameterization.name());
      CAPTURE(imbalance);
      Model model;
      model.parameterization = parameterization;
      model.start = {0, 0};
      model.imbalance_ov = model.imbalance_qk = imbalance;
      check_agreement(model, 1e12);
    }
}

TEST_CASE("both routes reach t = 1e30") {
  for (const Parameterization& parameterization : kParameterizations)
    for (const double ratio : {0.01, 1.0, 100.0}) {
      Model model;
      model.parameterization = parameterization;
      model.eta_qk = ratio;
      check_agreement(model, 1e30);
    }
}

// L and H integrated numerically, and the time as an integral over beta instead of u.
TEST_CASE("the closed form agrees with brute quadrature") {
  std::mt19937_64 random(2);
  for (int draw = 0; draw < 3; ++draw)
    for (const Parameterization& parameterization : kParameterizations)
      for (const bool balanced : {true, false}) {
        CAPTURE(parameterization.name());
        CAPTURE(balanced);
        const Model model = random_model(random, parameterization, balanced);
        Request request;
        // Times in proportion to the learning rates, so that beta moves enough to be an integration variable.
        request.losses = {0.5 * model.loss(model.margin(model.start)), 1e-3};
        request.end = 1e40;
        const Trajectory trajectory = closed_form(model, request);
        const double kappa = model.task.kappa();
        auto l_integral = [&](double from, double to) {
          return Quadrature::integrate(
              [&](double beta) { return (1 + kappa * std::exp(beta)) / model.qk_factor(beta); }, from, to, 10,
              1e-13);
        };
        auto h_integral = [&](double from, double to) {
          return Quadrature::integrate([&](double u) { return u / model.ov_factor(u); }, from, to, 10, 1e-13);
        };
        auto u_of_h = [&](double h) {  // from H(u) - H(start.u) = h
          if (!parameterization.factorized_ov) return std::sqrt(model.start.u * model.start.u + 2 * h);
          const double b = model.task.pool, factor = model.ov_factor(model.start.u) + 4 * b * h;
          return std::sqrt((factor * factor - model.imbalance_ov * model.imbalance_ov) / (4 * b));
        };
        for (const Point& x : trajectory.at_losses) {
          CHECK(x.status == Status::converged);
          const double l = l_integral(model.start.beta, x.beta);
          CHECK(relative(l, model.rate_ratio() * h_integral(model.start.u, x.u)) < 1e-9);
        }
        const Point& early = trajectory.at_losses[0];
        const Point& late = trajectory.at_losses[1];
        const double h_early = h_integral(model.start.u, early.u);
        const double duration = Quadrature::integrate(
            [&](double beta) {
              const double u = u_of_h(h_early + l_integral(early.beta, beta) / model.rate_ratio());
              return 1 / model.velocity({u, beta}).beta;
            },
            early.beta, late.beta, 6, 1e-12);
        // beta as a function of u is less well determined where beta moves little.
        const double conditioning = std::max(1.0, late.u / (late.beta - early.beta) * 1e-2);
        CHECK(relative(duration, late.t - early.t) < 1e-9 * conditioning);
      }
}

TEST_CASE("L of an unbalanced product agrees with brute quadrature at any imbalance") {
  for (const double scale : {1e-9, 1e-3, 0.5, 0.99, 1.01, 5.0, 29.9, 30.1, 1e4})
    for (const double beta : {1e-6, 1e-2, 1.0, 20.0, 100.0, 300.0, 500.0}) {
      CAPTURE(scale);
      CAPTURE(beta);
      Model model;
      model.task.query = Query::per_class;
      model.parameterization.factorized_qk = true;
      model.start.beta = 0;
      model.imbalance_qk = 2 * std::sqrt(model.task.qk_multiplier()) * scale;
      // In theta, beta = scale sinh(theta), where d beta/phi_Q = d theta/(2 q).
      const double expected = Quadrature::integrate(
          [&](double theta) { return 1 + model.task.kappa() * std::exp(scale * std::sinh(theta)); }, 0.0,
          std::asinh(beta / scale), 15, 1e-14);
      const double found = Invariant(model).l_change(beta) * 2 * std::sqrt(model.task.qk_multiplier());
      CHECK(relative(found, expected) < 1e-12);
    }
}

TEST_CASE("the state at a given loss is the state at the time found for it") {
  std::mt19937_64 random(3);
  for (const Parameterization& parameterization : kParameterizations) {
    const Model model = random_model(random, parameterization, true);
    Request request;
    request.losses = {1e-6, 0.3};
    request.end = 1e40;
    for (const Route route : {closed_form, integrate}) {
      const Trajectory at = route(model, request);
      Request times;
      times.times = {at.at_losses[1].t, at.at_losses[0].t};
      times.end = times.times[1];
      const Trajectory again = route(model, times);
      CHECK(relative(at.at_losses[0].loss, 1e-6) < 1e-12);
      CHECK(relative(at.at_losses[1].u, again.at_times[0].u) < 1e-10);
      CHECK(relative(at.at_losses[0].beta, again.at_times[1].beta) < 1e-10);
    }
  }
}

TEST_CASE("targets that are never or already reached") {
  Model model;
  Request request;
  request.losses = {1e-300, 100.0};
  request.betas = {1e6, 0.01};
  request.end = 1e6;
  for (const Route route : {closed_form, integrate}) {
    const Trajectory found = route(model, request);
    for (const auto* points : {&found.at_losses, &found.at_betas}) {
      CHECK((*points)[0].status == Status::step_limit);
      CHECK((*points)[0].t == 1e6);
      CHECK((*points)[0].u > 1);
      CHECK((*points)[1].status == Status::converged);
      CHECK((*points)[1].t == 0);
      CHECK((*points)[1].u == model.start.u);
    }
  }
}

TEST_CASE("a limit of steps ends the run with the last state") {
  Model model;
  Request request;
  request.times = {1.0, 1e12};
  request.step_limit = 12;
  for (const Route route : {closed_form, integrate}) {
    const Point last = route(model, request).at_times[1];
    CHECK(last.status == Status::step_limit);
    CHECK(last.t < 1e12);
    CHECK(std::isfinite(last.u));
  }
}

TEST_CASE("bad requests and models are refused") {
  Model model;
  Request request;
  request.times = {2.0, 1.0};
  CHECK_THROWS_AS(closed_form(model, request), std::invalid_argument);
  CHECK_THROWS_AS(integrate(model, request), std::invalid_argument);
  request.times = {};
  request.losses = {-1.0};
  CHECK_THROWS_AS(closed_form(model, request), std::invalid_argument);
  model.parameterization.factorized_ov = true;
  model.start.u = 0;
  CHECK_THROWS_AS(Invariant{model}, std::invalid_argument);
  model.task.classes = 1;
  CHECK_THROWS_AS(model.validate(), std::invalid_argument);
}
