#include "qksolve/phase/two_token/line.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace qksolve::phase {

using numerics::broadcast;
using numerics::Mask;
using numerics::Pack;

namespace {

// The logistic is within 3e-4 of 0 or 1 where its argument is beyond the reach.
constexpr double kSteepReach = 8.0;
constexpr int kSteepPoints = 12;
constexpr int kLongSearch =
    2 * kSteepPoints + 4;  // cells of a search that costs as much as one by those points

// A cell whose values at the ends disagree by more than this, in units of its width, hides something: a
// change of the slope of psi by four times as much.
constexpr double kResolved = 0.01;
constexpr int kRefinements = 3;
constexpr double kWidestCell = 0.8;  // at most, so that no well is passed over unseen

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

// Where k may have several minima: takes the best of points that resolve the logistic, and a bracket next to
// it.
[[gnu::noinline]] void TwoTokenLine::search(Pack w, Pack& low, Pack& high, Pack& y) const {
  const Pack nonzero = numerics::select(numerics::abs(w) < 1e-12, broadcast(1e-12), w);
  Pack best = broadcast(HUGE_VAL);
  const auto consider = [&](Pack trial) {
    const SquaredLogistic p1(w * (w + trial), label_.t1), p2(w * (w - trial), label_.t2);
    const Pack value = 0.5 * (trial - s_) * (trial - s_) + tau_ * (p1.value + p2.value);
    y = numerics::select(value < best, trial, y);
    best = numerics::min(best, value);
  };
  const double widest =
      numerics::maximum(numerics::abs(w) * (high - low));  // in units of the logistic's argument
  const int cells = static_cast<int>(std::min(4000.0, std::ceil(0.7 * widest))) + 2;
  if (cells <= kLongSearch) {
    const Pack spacing = (high - low) / static_cast<double>(cells);
    for (int i = 0; i <= cells; ++i) consider(low + spacing * static_cast<double>(i));
    low = numerics::max(low, y - spacing) - 1e-12;
    high = numerics::min(high, y + spacing) + 1e-12;
  } else {
    // Both logistics are constant almost everywhere: look where they are not, where their terms vanish, at
    // s, and at the ends.
    std::array<Pack, 2 * kSteepPoints + 5> trials{broadcast(s_), logit1_ / nonzero - w, w - logit2_ / nonzero,
                                                  low, high};
    for (int i = 0; i < kSteepPoints; ++i) {
      const double argument = kSteepReach * (2.0 * i / (kSteepPoints - 1) - 1.0);
      trials[5 + 2 * i] = argument / nonzero - w;
      trials[6 + 2 * i] = w - argument / nonzero;
    }
    for (Pack& trial : trials) {
      trial = numerics::min(numerics::max(trial, low), high);
      consider(trial);
    }
    for (const Pack& trial : trials) {
      low = numerics::select(trial < y, numerics::max(low, trial), low);
      high = numerics::select(trial > y, numerics::min(high, trial), high);
    }
    low -= 1e-12;
    high += 1e-12;
  }
}

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
    search(w, low, high, y);
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

void TwoTokenLine::take_hull(Contact& c) {
  const std::vector<Contact::Node>& grid = c.grid;
  c.hull.clear();
  for (int i = 0; i < static_cast<int>(grid.size()); ++i) {
    while (c.hull.size() >= 2) {
      const Contact::Node &a = grid[c.hull[c.hull.size() - 2]], &b = grid[c.hull.back()];
      if ((b.psi - a.psi) * (grid[i].w - b.w) < (grid[i].psi - b.psi) * (b.w - a.w)) break;
      c.hull.pop_back();
    }
    c.hull.push_back(i);
  }
}

// Whether the tangent of the hull over the grid points i and j belongs to a centre in the interval; the chord
// is close to it.
bool TwoTokenLine::matters(const Contact& c, int i, int j, double x_low, double x_high) {
  const Contact::Node &a = c.grid[i], &b = c.grid[j];
  const double chord = (b.psi - a.psi) / (b.w - a.w), margin = std::abs(b.x - a.x) + a.step;
  return chord >= x_low - margin && chord <= x_high + margin;
}

void TwoTokenLine::mark_unresolved(double x_low, double x_high, Contact& c) {
  c.unresolved.clear();
  for (std::size_t k = 0; k + 1 < c.hull.size(); ++k) {
    const int first = c.hull[k], last = c.hull[k + 1];
    const Contact::Node& start = c.grid[first];
    const double chord = (c.grid[last].psi - start.psi) / (c.grid[last].w - start.w);
    const auto above = [&](const Contact::Node& n) { return n.psi - start.psi - chord * (n.w - start.w); };
    for (int i = first; i < last; ++i) {
      const Contact::Node &l = c.grid[i], &r = c.grid[i + 1];
      const double h = r.w - l.w, fall = chord - l.x, rise = r.x - chord;
      // Values, slopes and curvatures at both ends over-determine a quartic.
      const double defect =
          std::abs(r.psi - l.psi - 0.5 * h * (l.x + r.x) + h * h / 12.0 * (r.slope - l.slope));
      bool hides = false;
      if (defect > kResolved * h) {
        // A well that the ends do not see reaches little deeper below their tangents than the defect tells.
        hides = std::min(above(l), above(r)) <= std::max({fall * h, rise * h, 0.0}) + 8.0 * defect;
      } else if (fall > 0.0 && rise > 0.0 && last > first + 1 && (i > first || l.slope <= 0.0) &&
                 (i + 1 < last || r.slope <= 0.0)) {
        // A well inside a gap, no deeper than where the tangents of its sides meet. At an edge of the gap it
        // is the edge's own, unless the grid's point there belongs to no well.
        hides = above(l) * rise + above(r) * fall < fall * rise * h;
      }
      if (hides && matters(c, first, last, x_low, x_high)) c.unresolved.push_back(i);
    }
  }
}

// Puts kLanes points into each cell that is marked.
void TwoTokenLine::refine(Contact& c) const {
  c.finer.clear();
  std::size_t from = 0;
  for (const int i : c.unresolved) {
    c.finer.insert(c.finer.end(), c.grid.begin() + static_cast<std::ptrdiff_t>(from), c.grid.begin() + i + 1);
    from = static_cast<std::size_t>(i) + 1;
    const double w = c.grid[i].w, step = c.grid[i].step / (numerics::kLanes + 1);
    c.finer.back().step = step;
    append(w, step, 1, c.finer);
  }
  c.finer.insert(c.finer.end(), c.grid.begin() + static_cast<std::ptrdiff_t>(from), c.grid.end());
  c.grid.swap(c.finer);
}

// The points w_low + step i for kLanes values of i, from `first` on.
void TwoTokenLine::append(double w_low, double step, int first, std::vector<Contact::Node>& grid) const {
  Pack w;
  for (int i = 0; i < numerics::kLanes; ++i) w[i] = w_low + step * (first + i);
  const Point p = evaluate(w);
  const std::size_t size = grid.size();
  grid.resize(size + numerics::kLanes);
  for (int i = 0; i < numerics::kLanes; ++i) grid[size + i] = {w[i], p.psi[i], p.x[i], p.slope[i], step};
}

void TwoTokenLine::find_gaps(double x_low, double x_high, Contact& c) const {
  c.gaps.clear();
  for (std::size_t k = 0; k + 1 < c.hull.size(); ++k) {
    const int i = c.hull[k], j = c.hull[k + 1];
    if (!matters(c, i, j, x_low, x_high)) continue;
    const Contact::Node &a = c.grid[i], &b = c.grid[j];
    const double h = b.w - a.w, chord = (b.psi - a.psi) / h;
    Contact::Gap gap{a.w, b.w, chord};
    if (j == i + 1 && a.x < b.x && a.slope > 0.0 && b.slope > 0.0) {
      double centre, half;
      if (!fold_inside(h, b.x - a.x, a.slope, b.slope, centre, half)) continue;
      gap = {a.w + centre - half, a.w + centre + half, chord};
    }
    const double step = std::max(a.step, b.step);
    if (!common_tangent(gap, step)) continue;
    // A middle well that the common tangent of its neighbours undercuts is not on the hull: join the gaps.
    bool joined = true;
    while (joined && !c.gaps.empty() && c.gaps.back().high > gap.low) {
      gap.low = c.gaps.back().low;
      c.gaps.pop_back();
      joined = common_tangent(gap, step);
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
  const int fewest = static_cast<int>(std::ceil((w_high - w_low) / kWidestCell));
  const int packs = (std::max(cells, fewest) + numerics::kLanes) / numerics::kLanes;
  const double spacing = (w_high - w_low) / (numerics::kLanes * packs - 1);
  c.grid.clear();
  for (int k = 0; k < packs; ++k) append(w_low, spacing, numerics::kLanes * k, c.grid);
  for (int round = 0;; ++round) {
    take_hull(c);
    if (round == kRefinements) break;
    mark_unresolved(x_low, x_high, c);
    if (c.unresolved.empty()) break;
    refine(c);
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
    for (; gap != c.gaps.end() && gap->high <= c.grid[i].w; ++gap) {
      add(gap->low, gap->x, 0.0);
      add(gap->high, gap->x, 0.0);
    }
    const Contact::Node& n = c.grid[i];
    if (gap == c.gaps.end() || n.w < gap->low) add(n.w, n.x, n.slope);
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
