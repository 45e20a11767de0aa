#include "qksolve/phase/two_token/line.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace qksolve::phase {

using numerics::broadcast;
using numerics::Mask;
using numerics::Pack;

namespace {

double logit(double t) {
  const double inside = std::clamp(t, 1e-15, 1.0 - 1e-15);
  return std::log(inside / (1.0 - inside));
}

}  // namespace

TwoTokenLine::TwoTokenLine(double t1, double t2, double tau)
    : label_{broadcast(t1), broadcast(t2)},
      tau_(tau),
      logit1_(logit(t1)),
      logit2_(logit(t2)),
      curvature_bound_(squared_logistic_curvature_bound(t1) + squared_logistic_curvature_bound(t2)) {}

TwoTokenLine::Point TwoTokenLine::evaluate(Pack w) const {
  // Inner problem: k(y) = (y - s)^2/2 + tau P(w, y). Each of its three terms falls up to one point and rises
  // after it: s, and the y at which S_11 = T_11 or S_22 = T_22. All stationary points lie between the first
  // and the last of the three, and within the bound on tau |dP/dy| around s.
  const Pack reach = 2.0 * kMaxSlope * tau_ * numerics::abs(w) + 1e-12;
  const Pack nonzero = numerics::select(numerics::abs(w) < 1e-12, broadcast(1e-12), w);
  const Pack zero1 = logit1_ / nonzero - w, zero2 = w - logit2_ / nonzero;
  Pack low = numerics::max(s_ - reach, numerics::min(numerics::min(zero1, zero2), broadcast(s_)));
  Pack high = numerics::min(s_ + reach, numerics::max(numerics::max(zero1, zero2), broadcast(s_)));
  Pack y = broadcast(s_);
  const Pack curvature = 1.0 + curvature_bound_ * tau_ * w * w;  // a lower bound on k''
  if (numerics::any(curvature <= 0.0)) {
    // k may have several minima: take the best point of a grid that resolves the logistic, and stay next to
    // it.
    const double widest =
        numerics::maximum(numerics::abs(w) * (high - low));  // in units of the logistic's argument
    const int cells = static_cast<int>(std::min(4000.0, std::ceil(0.7 * widest))) + 2;
    const Pack spacing = (high - low) / static_cast<double>(cells);
    Pack best = broadcast(HUGE_VAL);
    for (int i = 0; i <= cells; ++i) {
      const Pack trial = low + spacing * static_cast<double>(i);
      const SquaredLogistic p1(w * (w + trial), label_.t1), p2(w * (w - trial), label_.t2);
      const Pack value = 0.5 * (trial - s_) * (trial - s_) + tau_ * (p1.value + p2.value);
      y = numerics::select(value < best, trial, y);
      best = numerics::min(best, value);
    }
    low = numerics::max(low, y - spacing) - 1e-12;
    high = numerics::min(high, y + spacing) + 1e-12;
  }
  // Newton, safeguarded by the bracket.
  Point p;
  for (int iteration = 0;; ++iteration) {
    p.loss = TwoTokenLoss(w, y, label_);
    const Pack first = y - s_ + tau_ * p.loss.dy;
    const Pack second = 1.0 + tau_ * p.loss.dyy;
    const Mask below = first < 0.0;
    low = numerics::select(below, y, low);
    high = numerics::select(below, high, y);
    Pack step = -first / second;
    const Pack next = y + step;
    step = numerics::select((next >= low) & (next <= high), step, 0.5 * (low + high) - y);
    if (numerics::all(numerics::abs(step) <= 1e-8) || iteration == 80) {
      // One more step changes y by less than 1e-16: carry the first derivatives there instead of evaluating
      // again.
      p.y = y + step;
      p.loss.value += p.loss.dy * step;
      p.loss.dw += p.loss.dwy * step;
      p.loss.dy += p.loss.dyy * step;
      break;
    }
    y += step;
  }
  const Pack from_s = p.y - s_, cross = tau_ * p.loss.dwy;
  p.psi = 0.5 * (w * w + from_s * from_s) + tau_ * p.loss.value;
  p.x = w + tau_ * p.loss.dw;
  p.slope = 1.0 + tau_ * p.loss.dww - cross * cross / (1.0 + tau_ * p.loss.dyy);
  return p;
}

bool TwoTokenLine::common_tangent(Contact::Gap& gap, double largest_step) const {
  // Newton on two equations: the slopes psi' at both ends are equal, and the chord has that slope.
  for (int iteration = 0; iteration < 100; ++iteration) {
    Pack w = broadcast(gap.low);
    w[1] = gap.high;
    const Point p = evaluate(w);
    const double width = gap.high - gap.low;
    const double slope_defect = 0.5 * (p.x[1] - p.x[0]);
    const double chord_defect = (p.psi[1] - p.psi[0]) / width - 0.5 * (p.x[0] + p.x[1]);
    // Inside the spinodal (slope <= 0) a point moves outwards to find its well.
    auto step = [&](double defect, double slope, double outwards) {
      return slope > 1e-3 ? std::clamp(defect / slope, -largest_step, largest_step) : outwards;
    };
    const double step_low = step(chord_defect + slope_defect, p.slope[0], -0.25 * largest_step);
    const double step_high = step(chord_defect - slope_defect, p.slope[1], 0.25 * largest_step);
    gap.low += step_low;
    gap.high += step_high;
    gap.x = 0.5 * (p.x[0] + p.slope[0] * step_low + p.x[1] + p.slope[1] * step_high);
    if (!(gap.low < gap.high)) return false;
    if (std::max(std::abs(step_low), std::abs(step_high)) <
        1e-10 * (1.0 + std::abs(gap.low) + std::abs(gap.high)))
      return true;
  }
  return false;
}

namespace {

// Whether x(w) turns back inside a cell of width h, judged from the cubic with the given end values and
// slopes: then its common tangent touches at centre -+ half (in units of w, from the left end).
bool fold_inside(double h, double rise, double slope_left, double slope_right, double& centre, double& half) {
  const double middle = 1.5 * rise / h - 0.25 * (slope_left + slope_right);  // slope at the midpoint
  const double bend = 2.0 * (slope_left + slope_right - 2.0 * middle), tilt = slope_right - slope_left;
  if (bend <= 0.0) return false;
  const double at = std::clamp(-0.5 * tilt / bend, -0.5, 0.5);
  const double lowest = middle + tilt * at + bend * at * at;
  if (lowest >= 0.0) return false;
  centre = (0.5 + at) * h;
  half = std::sqrt(-3.0 * lowest / bend) * h;  // sqrt(3) times the distance to the spinodal
  return true;
}

}  // namespace

void TwoTokenLine::find_gaps(double x_low, double x_high, Contact& c) const {
  const auto& [w, psi, x, slope] = std::tie(c.grid_w, c.grid_psi, c.grid_x, c.grid_slope);
  const int n = static_cast<int>(w.size());
  c.hull.clear();
  for (int i = 0; i < n; ++i) {
    while (c.hull.size() >= 2) {
      const int a = c.hull[c.hull.size() - 2], b = c.hull.back();
      if ((psi[b] - psi[a]) * (w[i] - w[b]) < (psi[i] - psi[b]) * (w[b] - w[a])) break;
      c.hull.pop_back();
    }
    c.hull.push_back(i);
  }
  c.gaps.clear();
  const double spacing = w[1] - w[0];
  for (std::size_t k = 0; k + 1 < c.hull.size(); ++k) {
    const int i = c.hull[k], j = c.hull[k + 1];
    const double h = w[j] - w[i], chord = (psi[j] - psi[i]) / h;
    // A gap belongs to the centre x = slope of its tangent; the chord is close to it.
    const double margin = std::abs(x[j] - x[i]) + spacing;
    if (chord < x_low - margin || chord > x_high + margin) continue;
    Contact::Gap gap{w[i], w[j], chord};
    if (j == i + 1 && x[i] < x[j] && slope[i] > 0.0 && slope[j] > 0.0) {
      double centre, half;
      if (!fold_inside(h, x[j] - x[i], slope[i], slope[j], centre, half)) continue;
      gap = {w[i] + centre - half, w[i] + centre + half, chord};
    }
    if (!common_tangent(gap, spacing)) continue;
    // A middle well that the common tangent of its neighbours undercuts is not on the hull: join the gaps.
    bool joined = true;
    while (joined && !c.gaps.empty() && c.gaps.back().high > gap.low) {
      gap.low = c.gaps.back().low;
      c.gaps.pop_back();
      joined = common_tangent(gap, spacing);
    }
    if (joined) c.gaps.push_back(gap);
  }
}

double TwoTokenLine::Contact::w_at(double target) const {
  const auto upper = std::upper_bound(x.begin(), x.end(), target) - x.begin();
  const std::size_t j = std::clamp<std::ptrdiff_t>(upper, 1, static_cast<std::ptrdiff_t>(x.size()) - 1),
                    i = j - 1;
  const double span = x[j] - x[i];
  if (!(span > 0.0)) return w[i];
  // Cubic Hermite interpolation of the inverse function, whose slopes are 1/slope; kept inside the cell.
  const double t = std::clamp((target - x[i]) / span, 0.0, 1.0), height = w[j] - w[i];
  const double left = slope[i] > 0.0 ? std::min(span / slope[i], 3.0 * height) : height;
  const double right = slope[j] > 0.0 ? std::min(span / slope[j], 3.0 * height) : height;
  const double value = w[i] + t * left + t * t * (3.0 * height - 2.0 * left - right) +
                       t * t * t * (left + right - 2.0 * height);
  return std::clamp(value, w[i], w[j]);
}

void TwoTokenLine::contact(double x_low, double x_high, int cells, Contact& c) const {
  // |z - centre|^2 <= 2 tau (P(centre) - P(z)) <= 2 tau P(centre) bounds how far a minimiser can be.
  Pack ends = broadcast(x_low);
  ends[1] = x_high;
  const Pack furthest = 2.0 * tau_ * TwoTokenLoss(ends, broadcast(s_), label_).value;
  const double w_low = x_low - std::sqrt(furthest[0]) - 1e-9, w_high = x_high + std::sqrt(furthest[1]) + 1e-9;
  const int n = numerics::kLanes * ((cells + numerics::kLanes) / numerics::kLanes);
  const double spacing = (w_high - w_low) / (n - 1);
  for (auto* column : {&c.grid_w, &c.grid_psi, &c.grid_x, &c.grid_slope}) column->resize(n);
  for (int k = 0; k < n; k += numerics::kLanes) {
    for (int i = k; i < k + numerics::kLanes; ++i) c.grid_w[i] = w_low + spacing * i;
    const Point p = evaluate(numerics::load(&c.grid_w[k]));
    numerics::store(&c.grid_psi[k], p.psi);
    numerics::store(&c.grid_x[k], p.x);
    numerics::store(&c.grid_slope[k], p.slope);
  }
  find_gaps(x_low, x_high, c);

  // The contact points, gap edges included.
  for (auto* column : {&c.w, &c.x, &c.slope}) column->clear();
  auto add = [&c](double w, double x, double slope) {
    if (!c.w.empty() && (w <= c.w.back() || x < c.x.back())) return;
    c.w.push_back(w);
    c.x.push_back(x);
    c.slope.push_back(slope);
  };
  auto gap = c.gaps.begin();
  for (const int i : c.hull) {
    for (; gap != c.gaps.end() && gap->high <= c.grid_w[i]; ++gap) {
      add(gap->low, gap->x, 0.0);
      add(gap->high, gap->x, 0.0);
    }
    if (gap == c.gaps.end() || c.grid_w[i] < gap->low) add(c.grid_w[i], c.grid_x[i], c.grid_slope[i]);
  }

  c.stretches.clear();
  TwoTokenLine::Stretch stretch{c.w_at(x_low), 0.0, x_low, 0.0};
  for (const auto& g : c.gaps) {
    if (g.x <= x_low || g.x >= x_high) continue;
    c.stretches.push_back({stretch.w_low, g.low, stretch.x_low, g.x});
    stretch = {g.high, 0.0, g.x, 0.0};
  }
  c.stretches.push_back({stretch.w_low, c.w_at(x_high), stretch.x_low, x_high});
}

}  // namespace qksolve::phase
