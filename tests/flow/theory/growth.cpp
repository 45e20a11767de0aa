#include "qksolve/flow/theory/growth.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "flow/random_models.hpp"

using namespace qksolve::flow;

namespace {

Point at_loss(const Model& model, double loss) {
  Request request;
  request.losses = {loss};
  request.end = 1e200;
  const Point point = closed_form(model, request).at_losses[0];
  REQUIRE(point.status == Status::converged);
  return point;
}

}  // namespace

TEST_CASE("the constants of the reduced flow follow from the task") {
  Task task{10, 3, 20, 2, 20, Query::shared};
  CHECK(task.ov_constant() == doctest::Approx(1.0 / 27));
  CHECK(task.qk_constant() == doctest::Approx(1.0 / 30 + 1.0 / 20));
  CHECK(task.qk_multiplier() == doctest::Approx(1 / (1.0 / 30 + 1.0 / 20)));
  task.query = Query::per_class;
  CHECK(task.qk_constant() == doctest::Approx(1.0 / 30));
  CHECK(task.qk_multiplier() == doctest::Approx(3.0));
  task.query = Query::paper;
  CHECK(task.qk_constant() == doctest::Approx(1.0 / 90));
  CHECK(task.qk_multiplier() == doctest::Approx(9.0));
}

TEST_CASE("loss, gate and margin fit together") {
  Model model;
  for (const double s : {0.0, 0.5, 3.0, 40.0, 300.0}) {
    CHECK(model.margin_of_loss(model.loss(s)) == doctest::Approx(s).epsilon(1e-12));
    if (s > 0 && s < 100) {
      const double h = 1e-4 * s;
      CHECK(model.gate(s) ==
            doctest::Approx((model.loss(s - h) - model.loss(s + h)) / (2 * h)).epsilon(1e-6));
    }
  }
}

// The invariant gives L(beta) = L(beta0) + r (H(u) - H(u0)), and at fixed margin u falls as p rises.
TEST_CASE("at equal loss attention increases with the ratio of the learning rates") {
  std::mt19937_64 random(4);
  for (int draw = 0; draw < 25; ++draw)
    for (const Parameterization& parameterization : kParameterizations) {
      Model model = random_model(random, parameterization, draw % 2 == 0);
      const double loss = 0.9 * model.loss(model.margin(model.start)) * std::pow(10.0, -draw % 5);
      double last = 0;
      for (const double ratio : {0.01, 0.1, 1.0, 10.0}) {
        model.eta_qk = ratio * model.eta_ov;
        const double p = at_loss(model, loss).attention;
        CHECK(p > last);
        last = p;
      }
    }
}

// Balanced, equal r: H of collapsed OV exceeds that of factorized OV where u + u0 > 1/sqrt(b).
TEST_CASE("collapsed OV is sharper than factorized OV at equal loss once u exceeds 1/sqrt b") {
  std::mt19937_64 random(5);
  int sharper = 0, blunter = 0;
  for (int draw = 0; draw < 60; ++draw) {
    Model collapsed = random_model(random, {draw % 2 == 0, false}, true);
    const double loss = collapsed.loss(collapsed.margin(collapsed.start)) * std::pow(0.5, 0.1 + draw % 7);
    Model factorized = collapsed;
    factorized.parameterization.factorized_ov = true;
    const Point c = at_loss(collapsed, loss), f = at_loss(factorized, loss);
    const double scale = 1 / std::sqrt(collapsed.task.pool), u0 = collapsed.start.u;
    if (f.u + u0 > scale) {
      CHECK(c.attention > f.attention);
      ++sharper;
    } else if (c.u + u0 < scale) {
      CHECK(c.attention < f.attention);
      ++blunter;
    }
  }
  CHECK(sharper >= 10);
  CHECK(blunter >= 1);
}

// phi_Q = 2 q beta > 1 all along the run.
TEST_CASE("factorized QK is sharper than collapsed QK at equal loss if 2 q beta0 exceeds 1") {
  std::mt19937_64 random(6);
  for (int draw = 0; draw < 40; ++draw) {
    Model collapsed = random_model(random, {false, draw % 2 == 0}, true);
    const double threshold = 1 / (2 * std::sqrt(collapsed.task.qk_multiplier()));
    collapsed.start.beta = threshold * 1.01;
    Model factorized = collapsed;
    factorized.parameterization.factorized_qk = true;
    const double loss = 0.05 * collapsed.loss(collapsed.margin(collapsed.start));
    CHECK(at_loss(factorized, loss).attention > at_loss(collapsed, loss).attention);
  }
}

TEST_CASE("unsaturated growth has the predicted constants") {
  for (const Parameterization& parameterization : kParameterizations) {
    CAPTURE(parameterization.name());
    Model model;
    model.parameterization = parameterization;
    model.eta_qk = 1e-6;
    const Growth growth = growth_laws(model, 1e30, 1e-10, closed_form);
    CHECK(growth.regime == "unsaturated");
    REQUIRE(growth.beta_constant);
    CHECK(*growth.beta_constant == doctest::Approx(growth.beta_constant_predicted).epsilon(1e-3));
    CHECK(*growth.u_slope == doctest::Approx(growth.u_slope_predicted).epsilon(0.05));
  }
}

// d beta/d(ln t)^2 -> (r/2)(1-p0)/p0^2 while the window is open.
TEST_CASE("the log^2 t window of CACO") {
  Model model;
  model.start = {0, 0};
  model.eta_qk = 1e-6;
  Growth growth = growth_laws(model, 1e30, 1e-10, closed_form);
  const double p0 = 1.0 / 11, r = 0.019e-6;
  CHECK(growth.rate_ratio == doctest::Approx(r));
  CHECK(*growth.log_squared_window);
  // With x = ln(p0^2 eta t/b), beta is proportional to x^2 and (ln t)^2 grows faster than x^2 by ln t/x.
  const LocalExponent& late = growth.local.back();
  const double x = std::log(p0 * p0 / 50 * late.t);
  CHECK(late.beta_per_log_t_squared * std::log(late.t) / x ==
        doctest::Approx(0.5 * r * (1 - p0) / (p0 * p0)).epsilon(0.01));
  model.eta_qk = 1.0;  // r = .019 > 2 p0^2 = .0165
  growth = growth_laws(model, 1e30, 1e-10, closed_form);
  CHECK_FALSE(*growth.log_squared_window);
}

// The window closes where the law itself gives beta = 1 at p = p0. The flow has there, for r -> 0, the beta
// of L(beta) = r u^2/2 and p(beta) u = ln t, that is p(beta)^2 L(beta) = p0^2/(1-p0).
TEST_CASE("beta where the log^2 t window of CACO closes") {
  Model model;
  model.start = {0, 0};
  const double p0 = model.attention(0), kappa = model.task.kappa();
  auto excess = [&](double beta) {
    const double p = model.attention(beta);
    return p * p * (beta + kappa * std::expm1(beta)) - p0 * p0 / (1 - p0);
  };
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) (excess(0.5 * (low + high)) < 0 ? low : high) = 0.5 * (low + high);
  double last = 1;
  for (const double eta_qk : {1e-2, 1e-3, 1e-4, 1e-5}) {
    model.eta_qk = eta_qk;
    const Growth growth = growth_laws(model, 10, 1e-10, closed_form);
    Request request;
    request.times = {std::exp(*growth.window_log_end_predicted)};
    request.end = request.times[0];
    const double beta = closed_form(model, request).at_times[0].beta, distance = std::abs(beta - low);
    CAPTURE(beta);
    CAPTURE(low);
    CHECK(distance < last);
    last = distance;
  }
  CHECK(last < 0.02);
}

TEST_CASE("saturated growth: the margin grows like ln t and 1-p approaches its law") {
  for (const Parameterization& parameterization : kParameterizations) {
    CAPTURE(parameterization.name());
    Model model;
    model.task = {10, 1, 20, 2, 20, Query::shared};
    model.parameterization = parameterization;
    double last = 10;
    for (const double end : {1e10, 1e30, 1e100}) {
      const Growth growth = growth_laws(model, end, 1e-9, closed_form);
      CHECK(growth.regime == "saturated");
      REQUIRE(growth.attention_missing);
      const double ratio = *growth.attention_missing / *growth.attention_missing_predicted;
      CHECK(ratio > 1);
      CHECK(ratio < last);
      last = ratio;
      if (end > 1e20) CHECK(*growth.margin_slope == doctest::Approx(1.0).epsilon(0.05));
    }
    CHECK(last < 1.15);
  }
}

TEST_CASE("times of crossover are those of the trajectory") {
  Model model;
  const Growth growth = growth_laws(model, 1e12, 1e-10, integrate);
  REQUIRE(growth.margin_time);
  REQUIRE(growth.saturation_time);
  Request request;
  request.times = {*growth.margin_time, *growth.saturation_time};
  request.end = 1e12;
  const Trajectory run = closed_form(model, request);
  CHECK(run.at_times[0].margin == doctest::Approx(1.0).epsilon(1e-9));
  CHECK(run.at_times[1].attention == doctest::Approx(0.5).epsilon(1e-9));
  REQUIRE(growth.local.size() == 12);
  CHECK(growth.local[11].t == doctest::Approx(1e12));
}
