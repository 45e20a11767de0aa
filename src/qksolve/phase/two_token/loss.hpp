// The loss of a two-token sequence at rank one, and the coordinates in which its proximal problem is simple.
//
// With z = (z_1, z_2) the student's preactivations, rotated coordinates are
//     w = (z_1 - z_2)/sqrt(2),   y = (z_1 + z_2)/sqrt(2),
// in which the softmax attention of a token to itself reads S_11 = logistic(w^2 + w y), S_22 = logistic(w^2 -
// w y) and the loss, in units of sigma^2, is
//     P(w, y) = (S_11 - T_11)^2 + (S_22 - T_22)^2.
// P is even in (w, y) and constant (the uniform attention S = 1/2) on the ridge w = 0, which separates two
// wells.
#pragma once

#include "qksolve/numerics/pack.hpp"

namespace qksolve::phase {

// Teacher attention of the two tokens to themselves, T_11 and T_22, both in [0, 1]; one label per lane.
struct TwoTokenLabel {
  numerics::Pack t1, t2;
};

// (logistic(u) - t)^2 with its first two derivatives in u.
struct SquaredLogistic {
  numerics::Pack value, first, second;

  SquaredLogistic(numerics::Pack u, numerics::Pack t) {
    const numerics::Pack l = 1.0 / (1.0 + numerics::exp(-u));
    const numerics::Pack slope = l * (1.0 - l);
    const numerics::Pack gap = l - t;
    value = gap * gap;
    first = 2.0 * gap * slope;
    second = 2.0 * slope * (slope + gap * (1.0 - 2.0 * l));
  }
};

inline constexpr double kMaxSlope = 8.0 / 27.0;  // |first| <= 8/27, reached at t = 0, logistic(u) = 2/3

// Lower bound over all u on `second`, for t in [0, 1]: never positive, about -.12 at t = 0 and -.03 at t =
// 1/2.
double squared_logistic_curvature_bound(double t);

// P and its derivatives.
struct TwoTokenLoss {
  numerics::Pack value, dw, dy, dww, dwy, dyy;

  TwoTokenLoss() = default;
  TwoTokenLoss(numerics::Pack w, numerics::Pack y, const TwoTokenLabel& t) {
    const SquaredLogistic p1(w * (w + y), t.t1), p2(w * (w - y), t.t2);
    const numerics::Pack u_w = 2.0 * w + y, v_w = 2.0 * w - y;
    value = p1.value + p2.value;
    dw = u_w * p1.first + v_w * p2.first;
    dy = w * (p1.first - p2.first);
    dww = 2.0 * (p1.first + p2.first) + u_w * u_w * p1.second + v_w * v_w * p2.second;
    dwy = p1.first - p2.first + w * (u_w * p1.second - v_w * p2.second);
    dyy = w * w * (p1.second + p2.second);
  }
};

}  // namespace qksolve::phase
