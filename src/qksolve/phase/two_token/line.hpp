// Global proximal map of the two-token loss along a line of centres.
//
// The proximal problem of a centre c with rotated coordinates (x, s) is
//     min over (w, y) of  (w - x)^2/2 + (y - s)^2/2 + tau P(w, y),     tau = sigma^4 V.
// On a line of fixed s the inner minimum over y leaves a function of one variable,
//     psi(w) = w^2/2 + min_y [ (y - s)^2/2 + tau P(w, y) ],
// and the outer problem is a Legendre transform, min_w psi(w) - x w (+ x^2/2). Hence, for all x together:
//   - the global minimisers are the points w where psi touches its convex hull, and there x = psi'(w);
//   - the proximal map jumps across each gap of that contact set; the edges of a gap are the contact points
//   of a
//     common tangent, whose slope is the place x of the jump.
// Parametrised by w everything on the contact set is analytic: the steep slopes and the square-root
// singularities that the proximal map has as a function of x near a jump are gone.
#pragma once

#include <vector>

#include "qksolve/phase/two_token/loss.hpp"

namespace qksolve::phase {

class TwoTokenLine {
 public:
  // t1, t2: the label, in [0, 1]; tau > 0 and finite.
  TwoTokenLine(double t1, double t2, double tau);

  // Chooses the line of centres whose second rotated coordinate is s; finite.
  void move_to(double s) { s_ = s; }

  struct Point {
    numerics::Pack y;              // the (global) inner minimiser
    numerics::Pack psi, x, slope;  // psi, x = psi', slope = psi'' = dx/dw
    TwoTokenLoss loss;             // at (w, y)
  };
  Point evaluate(numerics::Pack w) const;

  // A stretch of the contact set: w from w_low to w_high, while x rises from x_low to x_high.
  struct Stretch {
    double w_low, w_high, x_low, x_high;
  };
  // The contact set over an interval of centres. Also the workspace of `contact`: reuse it from line to line.
  struct Contact {
    std::vector<Stretch> stretches;      // ascending; there is a jump when there are several
    std::vector<double> w, x, slope;     // points of the contact set, ascending
    double w_at(double x_target) const;  // the w of a given x, interpolated: a place for a panel edge
    struct Gap {
      double low, high, x;
    };
    std::vector<Gap> gaps;
    struct Node {
      double w, psi, x, slope, step;  // step: to the next one
    };
    std::vector<Node> grid, finer;
    std::vector<int> hull, unresolved;
  };
  // Finds the contact set over [x_low, x_high]. The outer ends of the stretches are interpolated, the edges
  // of the gaps are solved to rounding. `cells`: the size of the grid on which the hull is first taken.
  void contact(double x_low, double x_high, int cells, Contact& out) const;

 private:
  void search(numerics::Pack w, numerics::Pack& low, numerics::Pack& high, numerics::Pack& y) const;
  bool common_tangent(Contact::Gap& gap, double largest_step) const;
  void append(double w_low, double step, int first, std::vector<Contact::Node>& grid) const;
  static void take_hull(Contact& c);
  static bool matters(const Contact& c, int i, int j, double x_low, double x_high);
  static void mark_unresolved(double x_low, double x_high, Contact& c);
  void refine(Contact& c) const;
  void find_gaps(double x_low, double x_high, Contact& c) const;

  TwoTokenLabel label_;
  double tau_, s_ = 0.0;
  double logit1_, logit2_;  // logistic(logit) = t: where the two terms of the loss vanish
  double curvature_bound_;  // d2P/dy2 >= curvature_bound_ w^2
};

}  // namespace qksolve::phase
