// Global proximal map of the two-token loss at single centres, by descent from many starts.
//
// It shares no idea with two_token_line.hpp beyond the loss itself, and is the independent check of it.
#pragma once

#include "qksolve/phase/two_token/loss.hpp"

namespace qksolve::phase {

struct ProximalPoint {
  numerics::Pack w, y;    // the minimiser, rotated coordinates
  numerics::Pack energy;  // (w - x)^2/2 + (y - s)^2/2 + tau P(w, y) there
  TwoTokenLoss loss;      // at (w, y)
};

// Global minimiser over (w, y) for the centres (x, s), one per lane. tau > 0.
ProximalPoint two_token_proximal(const TwoTokenLabel& label, double tau, numerics::Pack x, numerics::Pack s);

}  // namespace qksolve::phase
