#include "qksolve/phase/finite_size/message_passing_path.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "qksolve/numerics/quasi_random.hpp"
#include "qksolve/numerics/random_normals.hpp"
#include "qksolve/numerics/statistics.hpp"
#include "qksolve/phase/two_token/proximal.hpp"
#include "qksolve/phase/two_token/teacher.hpp"

namespace qksolve::phase {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using numerics::kLanes;
using numerics::Pack;

namespace {

// Rows of a square-root factor of a covariance that grows by one step at a time. Steps that add nothing new,
// up to rounding, get a zero on the diagonal.
class GrowingFactor {
 public:
  // `covariance`: of the new step with those before and with itself. Returns the new row.
  VectorXd add(const VectorXd& covariance) {
    const Index t = covariance.size() - 1;
    VectorXd row = VectorXd::Zero(t + 1);
    for (Index k = 0; k < t; ++k) {
      const VectorXd& other = rows_[static_cast<std::size_t>(k)];
      if (other[k] > 0) row[k] = (covariance[k] - row.head(k).dot(other.head(k))) / other[k];
    }
    const double rest = covariance[t] - row.head(t).squaredNorm();
    row[t] = rest > kRounding * covariance[t] ? std::sqrt(rest) : 0.0;
    rows_.push_back(row);
    return row;
  }

 private:
  static constexpr double kRounding = 1e-12;
  std::vector<VectorXd> rows_;
};

constexpr int kQuasiRandomRows = 30;

// The scalars of one step.
struct Scalars {
  double q, theta, m, V;
};

// One set of paths. Arrays hold both tokens of a path in rotated coordinates: first (1 - 2)/sqrt(2), then (1
// + 2)/sqrt(2).
class Paths {
 public:
  Paths(const Model& model, double alpha, const Overlaps& start, int steps, double damping,
        const PathOptions& options, int replicate)
      : model_(model),
        alpha_(alpha),
        damping_(damping),
        seed_(options.seed),
        replicate_(replicate),
        count_(Index{2} << options.log2_paths),
        points_(numerics::shifted_sobol_normals(2 * kQuasiRandomRows, options.log2_paths, seed_, replicate)),
        at_{start.q(0, 0), start.theta(0, 0), start.m(0, 0), start.V(0, 0)},
        rho_square_(std::max(0.0, at_.q - at_.theta * at_.theta - at_.m * at_.m)),
        forces_(count_, steps),
        fresh_(count_, steps),
        noise_covariance_(MatrixXd::Zero(steps, steps)),
        weights_(VectorXd::Zero(steps)) {
    zeta_ = normals();
    epsilon_ = normals();
    rho_ = std::sqrt(rho_square_) * normals();
    const Index half = count_ / 2;
    labels_.resize(static_cast<std::size_t>(half / kLanes));
    for (Index i = 0; i < half; ++i) {
      TwoTokenLabel& label = labels_[static_cast<std::size_t>(i / kLanes)];
      double t1, t2;
      teacher_attention(model, zeta_[i], zeta_[half + i], t1, t2);
      label.t1[i % kLanes] = t1;
      label.t2[i % kLanes] = t2;
    }
  }

  const Scalars& scalars() const { return at_; }

  void advance() {
    const double variance = model_.sigma[0] * model_.sigma[0], sigma = model_.sigma[0];
    const Eigen::MatrixXd& b = model_.positional_matrix;
    const double b_w = (b(0, 0) - b(1, 0)) / std::numbers::sqrt2,
                 b_y = (b(0, 0) + b(1, 0)) / std::numbers::sqrt2;
    const Index half = count_ / 2, t = step_;
    const double paths = static_cast<double>(half), tau = variance * variance * at_.V;
    VectorXd field = sigma * (at_.theta * zeta_ + at_.m * epsilon_ + rho_);
    field.head(half).array() += b_w * at_.m;
    field.tail(half).array() += b_y * at_.m;
    Pack classical{};
    for (Index i = 0; i < half; i += kLanes) {
      const Pack x = numerics::load(&field[i]), s = numerics::load(&field[half + i]);
      const ProximalPoint p = two_token_proximal(labels_[static_cast<std::size_t>(i / kLanes)], tau, x, s);
      numerics::store(&forces_(i, t), (p.w - x) / (variance * at_.V));
      numerics::store(&forces_(half + i, t), (p.y - s) / (variance * at_.V));
      classical += proximal_slope(p, tau);
    }
    const auto force = forces_.col(t);
    const double free =
        at_.q - at_.theta * at_.theta;  // variance of the field's part that is independent of zeta
    const double slope = by_parts(Response::total, at_.q, free)
                             ? force.dot(at_.m * epsilon_ + rho_) / (sigma * free) / paths
                             : numerics::sum(classical) / (variance * at_.V) / paths;
    const double v = -alpha_ * variance * slope;
    const double precision = precision_from_slope(model_.lambda, v), next_V = 1.0 / precision;

    const double theta_hat =
        at_.theta == 0 ? 0.0
                       : alpha_ * sigma * force.dot(zeta_) / paths + (precision - model_.lambda) * at_.theta;
    const double m_hat =
        at_.m == 0 ? 0.0 : alpha_ * (b_w * force.head(half).sum() + b_y * force.tail(half).sum()) / paths;
    noise_covariance_.row(t).head(t + 1) =
        alpha_ * variance / paths * (forces_.leftCols(t + 1).transpose() * force).transpose();
    noise_covariance_.col(t).head(t + 1) = noise_covariance_.row(t).head(t + 1).transpose();
    fresh_.col(t) = normals();
    const VectorXd row = factor_.add(noise_covariance_.row(t).head(t + 1).transpose());

    const double keep = damping_, weight = (1.0 - keep) * next_V;
    rho_ = keep * rho_ + weight * (fresh_.leftCols(t + 1) * row);
    weights_.head(t) *= keep;
    weights_[t] = weight;
    rho_square_ *= keep * keep;
    at_.theta = keep * at_.theta + weight * theta_hat;
    at_.m = keep * at_.m + weight * m_hat;
    at_.V = keep * at_.V + weight;
    const auto w = weights_.head(t + 1);
    at_.q = at_.theta * at_.theta + at_.m * at_.m + rho_square_ +
            w.dot(noise_covariance_.topLeftCorner(t + 1, t + 1) * w);
    ++step_;
  }

 private:
  // Normal deviates for both tokens of every path: from the quasi-random points while their dimensions last.
  VectorXd normals() {
    const std::uint64_t row = row_++;
    if (row < kQuasiRandomRows)
      return Eigen::Map<const VectorXd>(points_.data() + static_cast<Index>(row) * count_, count_);
    VectorXd values(count_);
    numerics::fill_normals({seed_, 0, static_cast<std::uint64_t>(replicate_), 0}, row, values.data(),
                           static_cast<std::size_t>(count_));
    return values;
  }

  const Model& model_;
  double alpha_, damping_;
  std::uint64_t seed_;
  int replicate_;
  std::uint64_t row_ = 0;
  Index count_, step_ = 0;
  std::vector<double> points_;
  Scalars at_;
  double rho_square_;  // of what is left of rho_0
  VectorXd zeta_, epsilon_, rho_;
  std::vector<TwoTokenLabel> labels_;
  MatrixXd forces_, fresh_, noise_covariance_;
  VectorXd weights_;
  GrowingFactor factor_;
};

}  // namespace

std::vector<PathPrediction> predict_message_passing(const Model& model, double alpha, const Overlaps& start,
                                                    int steps, double damping, const PathOptions& options,
                                                    const numerics::Interrupt& interrupted) {
  if (!is_two_token(model))
    throw std::invalid_argument("message passing needs two tokens of equal sigma at rank one");
  const auto replicates = static_cast<std::size_t>(options.replicates);
  std::vector<std::vector<Scalars>> runs(replicates);
  for (std::size_t k = 0; k < replicates;
       ++k) {  // one after the other: each keeps the forces of all its steps
    Paths paths(model, alpha, start, steps, damping, options, static_cast<int>(k));
    runs[k].push_back(paths.scalars());
    for (int t = 0; t < steps; ++t) {
      numerics::throw_if(interrupted);
      paths.advance();
      runs[k].push_back(paths.scalars());
    }
  }
  std::vector<PathPrediction> predictions;
  for (std::size_t t = 0;
       std::all_of(runs.begin(), runs.end(), [t](const auto& run) { return t < run.size(); }); ++t) {
    PathPrediction at;
    auto estimate = [&](double Scalars::*member, MatrixXd& mean, MatrixXd& error) {
      VectorXd values(options.replicates);
      for (std::size_t k = 0; k < replicates; ++k) values[static_cast<Index>(k)] = runs[k][t].*member;
      const numerics::MeanEstimate over_runs = numerics::mean_estimate(values);
      mean = MatrixXd::Constant(1, 1, over_runs.mean);
      error = MatrixXd::Constant(1, 1, *over_runs.error);
    };
    estimate(&Scalars::q, at.overlaps.q, at.error.q);
    estimate(&Scalars::theta, at.overlaps.theta, at.error.theta);
    estimate(&Scalars::m, at.overlaps.m, at.error.m);
    estimate(&Scalars::V, at.overlaps.V, at.error.V);
    predictions.push_back(at);
  }
  return predictions;
}

}  // namespace qksolve::phase
