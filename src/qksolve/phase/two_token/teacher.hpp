// Product rule for the teacher's pair of preactivations in the two-token, rank-one model.
#pragma once

#include <functional>
#include <vector>

#include "qksolve/phase/model.hpp"

namespace qksolve::phase {

// Whether the fast two-token path applies: L = 2, r = r* = 1 and equal sigma.
bool is_two_token(const Model& model);

// The teacher's preactivations are h_l = sigma zeta_l with zeta ~ N(0, I); in rotated coordinates
// zeta_w = (zeta_1 - zeta_2)/sqrt(2), zeta_y = (zeta_1 + zeta_2)/sqrt(2).
struct TeacherNode {
  double zeta_w, zeta_y, weight;
  double t1, t2;  // teacher attention T_11, T_22
};

// T_11 and T_22 at given preactivations.
void teacher_attention(const Model& model, double zeta_w, double zeta_y, double& t1, double& t2);

// Polar rule: trapezoid in the angle, Gauss-Legendre in the radius on [0, radius]; weights sum to 1 up to
// exp(-radius^2/2). With `half` the angle runs over a half turn only, for integrands even in zeta.
std::vector<TeacherNode> teacher_rule(const Model& model, int angles, int radii, double radius, bool half);

// Test error of the best positional-only linear map W = E[T], 1/2 E tr (T - W) D (T - W)' = sigma^2 (Var T_11
// + Var T_22). Relative error below 1e-11.
double linear_baseline(const Model& model);

// Test error 1/2 E tr (S(c) - T) D (S(c) - T)' of a student with the given overlaps (V is not used), refined
// until the relative change is below `tolerance`; `error` receives the last change.
double two_token_generalization_error(const Model& model, const Overlaps& overlaps, double tolerance,
                                      double& error);

// The same as a function of the overlaps.
std::function<double(const Overlaps&, double, double&)> two_token_test_error(const Model& model);

}  // namespace qksolve::phase
