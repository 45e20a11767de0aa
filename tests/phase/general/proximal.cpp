// The proximal map of the two-token loss: derivatives, and global minima proven by exhaustive search.
#include "qksolve/phase/two_token/proximal.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "qksolve/phase/two_token/line.hpp"

using namespace qksolve::phase;
using qksolve::numerics::broadcast;
using qksolve::numerics::Pack;

namespace {

struct Case {
  double t1, t2, tau, x, s;
};

// Random labels, strengths and centres; every third centre is close to the origin, through which a jump runs.
std::vector<Case> random_cases(int count, unsigned seed) {
  std::mt19937_64 engine(seed);
  auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(engine() >> 11) * 0x1p-53;
  };
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    const double size = i % 3 == 0 ? 0.02 : 1.5;
    cases.push_back({uniform(0, 1), uniform(0, 1), std::exp(uniform(std::log(0.3), std::log(20.0))),
                     uniform(-size, size), uniform(-size, size)});
  }
  return cases;
}

double energy(const Case& c, double w, double y) {
  auto logistic = [](double u) { return 1 / (1 + std::exp(-u)); };
  const double a = logistic(w * (w + y)) - c.t1, b = logistic(w * (w - y)) - c.t2;
  return 0.5 * ((w - c.x) * (w - c.x) + (y - c.s) * (y - c.s)) + c.tau * (a * a + b * b);
}

// Lowest energy on a grid that covers the ball in which the minimiser must lie, refined around its best
// points.
double grid_minimum(const Case& c) {
  const double reach = std::sqrt(2 * energy(c, c.x, c.s)) + 1e-9;
  const int n = 240;
  const double h = 2 * reach / n;
  std::vector<std::array<double, 3>> points;
  for (int i = 0; i <= n; ++i)
    for (int j = 0; j <= n; ++j) {
      const double w = c.x - reach + i * h, y = c.s - reach + j * h;
      points.push_back({energy(c, w, y), w, y});
    }
  std::partial_sort(points.begin(), points.begin() + 40, points.end());
  double best = points[0][0];
  for (int k = 0; k < 40; ++k) {
    double w = points[k][1], y = points[k][2], value = points[k][0];
    for (double step = h; step > 1e-7; step *= 0.5)
      for (bool moved = true; moved;) {
        moved = false;
        for (const auto& [dw, dy] : {std::pair{step, 0.0}, {-step, 0.0}, {0.0, step}, {0.0, -step}})
          if (const double trial = energy(c, w + dw, y + dy); trial < value - 1e-16) {
            value = trial;
            w += dw;
            y += dy;
            moved = true;
          }
      }
    best = std::min(best, value);
  }
  return best;
}

// The proximal point of centre x on a line, from its contact set.
double line_energy(const Case& c, bool& jump, double& mismatch) {
  TwoTokenLine line(c.t1, c.t2, c.tau);
  line.move_to(c.s);
  TwoTokenLine::Contact contact;
  line.contact(c.x - 0.5, c.x + 0.5, 31, contact);
  jump = contact.stretches.size() > 1;
  mismatch = 0;
  auto at = [&](double w) {
    const auto p = line.evaluate(broadcast(w));
    return std::array{p.x[0], p.y[0], p.slope[0]};
  };
  for (std::size_t k = 0; k + 1 < contact.stretches.size(); ++k) {
    // At a jump both edges have the same centre and the same energy.
    const double left = contact.stretches[k].w_high, right = contact.stretches[k + 1].w_low;
    const Case here{c.t1, c.t2, c.tau, contact.stretches[k].x_high, c.s};
    mismatch =
        std::max(mismatch, std::abs(energy(here, left, at(left)[1]) - energy(here, right, at(right)[1])));
    mismatch = std::max(mismatch, std::abs(at(left)[0] - at(right)[0]));
  }
  for (const auto& stretch : contact.stretches) {
    if (c.x < stretch.x_low || c.x > stretch.x_high) continue;
    double low = stretch.w_low, high = stretch.w_high;
    for (int i = 0; i < 100; ++i) (at(0.5 * (low + high))[0] < c.x ? low : high) = 0.5 * (low + high);
    const double w = 0.5 * (low + high);
    return energy(c, w, at(w)[1]);
  }
  return HUGE_VAL;
}

}  // namespace

TEST_CASE("derivatives of the two-token loss are those of its value") {
  const double h = 1e-5;
  for (const Case& c : random_cases(60, 1)) {
    const TwoTokenLabel label{broadcast(c.t1), broadcast(c.t2)};
    auto loss = [&](double w, double y) { return TwoTokenLoss(broadcast(w), broadcast(y), label); };
    const TwoTokenLoss at = loss(c.x, c.s);
    auto difference = [&](Pack TwoTokenLoss::*member, double dw, double dy) {
      return ((loss(c.x + dw, c.s + dy).*member)[0] - (loss(c.x - dw, c.s - dy).*member)[0]) / (2 * h);
    };
    CHECK(at.dw[0] == doctest::Approx(difference(&TwoTokenLoss::value, h, 0)).epsilon(1e-7));
    CHECK(at.dy[0] == doctest::Approx(difference(&TwoTokenLoss::value, 0, h)).epsilon(1e-7));
    CHECK(at.dww[0] == doctest::Approx(difference(&TwoTokenLoss::dw, h, 0)).epsilon(1e-7));
    CHECK(at.dwy[0] == doctest::Approx(difference(&TwoTokenLoss::dw, 0, h)).epsilon(1e-7));
    CHECK(at.dyy[0] == doctest::Approx(difference(&TwoTokenLoss::dy, 0, h)).epsilon(1e-7));
  }
}

TEST_CASE("the curvature bound is a bound, and not a loose one") {
  for (double t = 0; t <= 1.0001; t += 0.05) {
    double lowest = 0;
    for (double u = -20; u <= 20; u += 0.01) {
      const SquaredLogistic p(broadcast(u), broadcast(t));
      lowest = std::min(lowest, p.second[0]);
      CHECK(std::abs(p.first[0]) <= kMaxSlope);
    }
    CHECK(squared_logistic_curvature_bound(t) <= lowest);
    CHECK(squared_logistic_curvature_bound(t) >= 1.1 * lowest - 1e-3);
  }
}

TEST_CASE("descent from several starts and the convex hull of a line both find the global minimum") {
  int jumps = 0;
  for (const Case& c : random_cases(320, 2)) {
    CAPTURE(c.t1);
    CAPTURE(c.t2);
    CAPTURE(c.tau);
    CAPTURE(c.x);
    CAPTURE(c.s);
    const double lowest = grid_minimum(c);
    const auto descent =
        two_token_proximal({broadcast(c.t1), broadcast(c.t2)}, c.tau, broadcast(c.x), broadcast(c.s));
    CHECK(descent.energy[0] <= lowest + 1e-9);
    bool jump = false;
    double mismatch = 0;
    CHECK(line_energy(c, jump, mismatch) <= lowest + 1e-9);
    CHECK(mismatch < 1e-9);
    jumps += jump ? 1 : 0;
  }
  CHECK(jumps > 40);  // the cases do test jumps
}
