#include "qksolve/phase/two_token/proximal.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>

namespace qksolve::phase {

using numerics::broadcast;
using numerics::Mask;
using numerics::Pack;
using numerics::select;
using numerics::square_root;

namespace {

struct Descent {
  const TwoTokenLabel& label;
  double tau;
  Pack x, s;

  Pack energy(const TwoTokenLoss& loss, Pack w, Pack y) const {
    return 0.5 * ((w - x) * (w - x) + (y - s) * (y - s)) + tau * loss.value;
  }

  // Newton with the smallest eigenvalue of the Hessian floored, inside a radius that shrinks when a step
  // fails.
  ProximalPoint from(Pack w, Pack y, int steps, double tolerance) const {
    ProximalPoint at{w, y, {}, TwoTokenLoss(w, y, label)};
    at.energy = energy(at.loss, w, y);
    Pack radius = broadcast(1.0);
    for (int iteration = 0; iteration < steps; ++iteration) {
      const Pack gw = at.w - x + tau * at.loss.dw, gy = at.y - s + tau * at.loss.dy;
      Pack hww = 1.0 + tau * at.loss.dww, hyy = 1.0 + tau * at.loss.dyy;
      const Pack hwy = tau * at.loss.dwy;
      const Pack half_gap = 0.5 * (hww - hyy);
      const Pack lowest = 0.5 * (hww + hyy) - square_root(half_gap * half_gap + hwy * hwy);
      const Pack lift = numerics::max(0.05 - lowest, Pack{});
      hww += lift;
      hyy += lift;
      const Pack det = hww * hyy - hwy * hwy;
      Pack step_w = -(hyy * gw - hwy * gy) / det, step_y = -(hww * gy - hwy * gw) / det;
      const Pack length = square_root(step_w * step_w + step_y * step_y);
      const Pack shrink = select(length > radius, radius / length, broadcast(1.0));
      step_w *= shrink;
      step_y *= shrink;
      const Pack trial_w = at.w + step_w, trial_y = at.y + step_y;
      const TwoTokenLoss loss(trial_w, trial_y, label);
      const Pack trial = energy(loss, trial_w, trial_y);
      const Mask better = trial <= at.energy + 1e-15;
      at.w = select(better, trial_w, at.w);
      at.y = select(better, trial_y, at.y);
      at.energy = select(better, trial, at.energy);
      for (auto member : {&TwoTokenLoss::value, &TwoTokenLoss::dw, &TwoTokenLoss::dy, &TwoTokenLoss::dww,
                          &TwoTokenLoss::dwy, &TwoTokenLoss::dyy})
        at.loss.*member = select(better, loss.*member, at.loss.*member);
      radius = select(better, broadcast(1.0), 0.25 * numerics::min(length, radius));
      if (numerics::all(length <= tolerance)) break;
    }
    return at;
  }
};

}  // namespace

ProximalPoint two_token_proximal(const TwoTokenLabel& label, double tau, Pack x, Pack s) {
  const Descent descent{label, tau, x, s};
  // The perfect fit of the label, if there is one, and its mirror image: S_11 = T_11 and S_22 = T_22.
  Pack fit_w, fit_y;
  for (int i = 0; i < numerics::kLanes; ++i) {
    auto logit = [](double t) { return std::log((t + 1e-12) / (1.0 - t + 1e-12)); };
    const double u = logit(label.t1[i]), v = logit(label.t2[i]);
    fit_w[i] = std::sqrt(std::max(0.5 * (u + v), 0.01));
    fit_y[i] = std::max(-3.0, std::min(3.0, 0.5 * (u - v) / fit_w[i]));
  }
  const Pack side = numerics::abs(x) + 0.1;
  const Pack starts[][2] = {{x, s},
                            {-x, -s},
                            {side, s},
                            {-side, s},
                            {fit_w, fit_y},
                            {-fit_w, -fit_y},
                            {0.5 * (x + fit_w), 0.5 * (s + fit_y)},
                            {0.5 * (x - fit_w), 0.5 * (s - fit_y)}};
  ProximalPoint best = descent.from(starts[0][0], starts[0][1], 10, 1e-3);
  for (std::size_t k = 1; k < std::size(starts); ++k) {
    const ProximalPoint trial = descent.from(starts[k][0], starts[k][1], 10, 1e-3);
    const Mask better = trial.energy < best.energy;
    best.w = select(better, trial.w, best.w);
    best.y = select(better, trial.y, best.y);
    best.energy = select(better, trial.energy, best.energy);
  }
  return descent.from(best.w, best.y, 60, 1e-9);
}

}  // namespace qksolve::phase
