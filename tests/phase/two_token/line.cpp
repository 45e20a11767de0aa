// The contact set of a line against the convex hull of a dense grid.
#include "qksolve/phase/two_token/line.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace qksolve::phase;
using qksolve::numerics::kLanes;
using qksolve::numerics::Pack;

namespace {

struct Gap {
  double low, high, x;
};

// Edges of the hull that are longer than two cells, with x inside the interval.
std::vector<Gap> dense_gaps(const TwoTokenLine& line, double w_low, double w_high, double x_low,
                            double x_high, int points) {
  std::vector<double> w, psi;
  for (int k = 0; k < points; k += kLanes) {
    Pack at;
    for (int i = 0; i < kLanes; ++i) at[i] = w_low + (w_high - w_low) * (k + i) / (points - 1);
    const auto p = line.evaluate(at);
    for (int i = 0; i < kLanes; ++i) {
      w.push_back(at[i]);
      psi.push_back(p.psi[i]);
    }
  }
  std::vector<int> hull;
  for (int i = 0; i < points; ++i) {
    while (hull.size() >= 2) {
      const int a = hull[hull.size() - 2], b = hull.back();
      if ((psi[b] - psi[a]) * (w[i] - w[b]) < (psi[i] - psi[b]) * (w[b] - w[a])) break;
      hull.pop_back();
    }
    hull.push_back(i);
  }
  std::vector<Gap> gaps;
  for (std::size_t k = 0; k + 1 < hull.size(); ++k) {
    const int i = hull[k], j = hull[k + 1];
    const double x = (psi[j] - psi[i]) / (w[j] - w[i]);
    if (j > i + 2 && x > x_low && x < x_high) gaps.push_back({w[i], w[j], x});
  }
  return gaps;
}

}  // namespace

TEST_CASE("a line's contact set has every gap of a dense convex hull, on the coarsest grid") {
  struct Place {
    double t1, t2, tau, s, reach;
  };
  // At tau = 7.2 (sigma = .9) with several wells on a line, some of them inside a cell of the first grid; at
  // tau = 577 (sigma = 1.3) with bounds of w far wider than the wells.
  for (const Place& p : {Place{0.546, 0.539, 7.23, -2.509, 4.9}, Place{0.622, 0.584, 7.23, -0.466, 4.9},
                         Place{0.774, 0.691, 7.23, -1.426, 4.9}, Place{0.790, 0.727, 7.23, -2.115, 4.9},
                         Place{0.858, 0.815, 7.23, -2.115, 4.9}, Place{0.602, 0.482, 577, -2.121, 8.4},
                         Place{0.602, 0.482, 577, -0.699, 8.4}, Place{0.6, 0.55, 3.2, 0.2, 2.1}}) {
    CAPTURE(p.t1);
    CAPTURE(p.tau);
    CAPTURE(p.s);
    TwoTokenLine line(p.t1, p.t2, p.tau);
    line.move_to(p.s);
    TwoTokenLine::Contact contact;
    line.contact(-p.reach, p.reach, 15, contact);
    const double w_low = contact.grid.front().w, w_high = contact.grid.back().w;
    const int points = 16384;
    const double cell = (w_high - w_low) / (points - 1);
    for (const Gap& gap : dense_gaps(line, w_low, w_high, -p.reach, p.reach, points)) {
      CAPTURE(gap.low);
      CAPTURE(gap.high);
      double nearest = HUGE_VAL;
      for (const auto& found : contact.gaps)
        nearest = std::min(nearest, std::max(std::abs(found.low - gap.low), std::abs(found.high - gap.high)));
      CHECK(nearest <= 2 * cell);
    }
  }
}
