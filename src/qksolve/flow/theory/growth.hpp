// How fast the two circuits grow: regimes, local exponents, and the constants of the asymptotic laws.
//   lazy         s < 1
//   unsaturated  s >= 1, p < 1/2: u ~ (1/p0) ln(p0^2 eta_ov t/b), that is O(log t), and L - r H = const gives
//                with p0 = p(start.beta)
//                  CACO  beta - beta0    = (r/2) (1-p0) (u^2 - u0^2), that is O(log^2 t)
//                  CAFO  beta - beta0    = (r/(2 sqrt b)) (1-p0) (u - u0)
//                  FACO  ln(beta/beta0)  = r q (1-p0) (u^2 - u0^2)
//                  FAFO  ln(beta/beta0)  = (r q/sqrt b) (1-p0) (u - u0)
//                (unbalanced: sqrt(imbalance_ov^2/(4b) + u^2) for u, asinh(beta/a) for ln beta)
//   saturated    p >= 1/2: margin ~ ln t, and 1-p -> 2/(r u^2), 2 sqrt b/(r u), 1/(r q u^2 beta), sqrt b/(r q
//   u beta)
//                for CACO, CAFO, FACO, FAFO.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qksolve/flow/theory/trajectory.hpp"

namespace qksolve::flow {

struct LocalExponent {
  double t = 0, u_per_log_t = 0, beta_per_log_t_squared = 0;  // d u/d ln t, d beta/d (ln t)^2
};

struct Growth {
  double rate_ratio = 0, start_attention = 0;  // r, p0
  std::string regime;                          // at the end of the run
  // When the margin reaches 1, p reaches 1/2 and beta has risen by 1; absent if not before the end.
  std::optional<double> margin_time, saturation_time, beta_time;
  std::vector<LocalExponent> local;  // at powers of ten, from 10 to the end
  // Least squares over the times with s >= 1 and p < 1.2 p0, where there are at least three samples, eight in
  // a decade.
  std::optional<double> u_slope;        // of u in ln t
  double u_slope_predicted = 0;         // 1/p0
  std::optional<double> beta_constant;  // of the table above
  double beta_constant_predicted = 0;
  // At the end of the run, if it is saturated.
  std::optional<double> margin_slope;  // d s/d ln t, predicted 1
  std::optional<double> attention_missing, attention_missing_predicted;
  std::optional<double> beta, beta_predicted;
  // CACO: beta ~ log^2 t needs u to grow like ln t before beta has risen by 1, r < 2 p0^2. The window closes
  // where (r/2)(1-p0) u^2 = 1, at ln t = ln(b/(p0^2 eta_ov)) + p0 sqrt(2/(r (1-p0))).
  std::optional<bool> log_squared_window;
  std::optional<double> window_log_end_predicted;  // ln t
};

using Route = Trajectory (*)(const Model& model, const Request& request);

// Solves the flow by `route` up to t = end > 1. Throws numerics::Interrupted.
Growth growth_laws(const Model& model, double end, double tolerance, Route route,
                   const numerics::Interrupt& interrupted = {});

}  // namespace qksolve::flow
