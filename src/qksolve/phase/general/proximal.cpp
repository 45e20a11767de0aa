#include "qksolve/phase/general/proximal.hpp"

#include <algorithm>
#include <cmath>

#include "qksolve/numerics/dense.hpp"
#include "qksolve/numerics/quasi_random.hpp"

namespace qksolve::phase {

using numerics::broadcast;
using numerics::kLanes;
using numerics::Mask;
using numerics::Pack;
using numerics::select;

namespace {

constexpr double kSmallestPivot = 0.05;  // of the Hessian, whose quadratic part is the identity

// L D L' of a symmetric matrix, pivots replaced by their absolute values and at least kSmallestPivot: of a
// Hessian that is not positive definite a matrix that is. D on the diagonal, L below it.
void factorize(Pack* a, int n) {
  for (int j = 0; j < n; ++j) {
    Pack pivot = a[j * n + j];
    for (int k = 0; k < j; ++k) pivot -= a[j * n + k] * a[j * n + k] * a[k * n + k];
    a[j * n + j] = pivot = numerics::max(numerics::abs(pivot), broadcast(kSmallestPivot));
    const Pack inverse = 1.0 / pivot;
    for (int i = j + 1; i < n; ++i) {
      Pack entry = a[i * n + j];
      for (int k = 0; k < j; ++k) entry -= a[i * n + k] * a[j * n + k] * a[k * n + k];
      a[i * n + j] = entry * inverse;
    }
  }
}

void solve(const Pack* a, int n, Pack* x) {
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < i; ++k) x[i] -= a[i * n + k] * x[k];
  for (int i = 0; i < n; ++i) x[i] /= a[i * n + i];
  for (int i = n - 1; i >= 0; --i)
    for (int k = i + 1; k < n; ++k) x[i] -= a[k * n + i] * x[k];
}

// Enough to tell the minima apart; the lowest one is then polished.
constexpr int kQuickSteps = 10, kPolishSteps = 60;
constexpr double kQuickTolerance = 1e-3, kPolishTolerance = 1e-9;

constexpr double kLargestStart = 2.0;  // entries of z at random starts: attention is saturated beyond

// A number in (-1, 1) for each key.
double scrambled(std::uint64_t key) {
  return (static_cast<double>(numerics::mix(key) >> 12) + 0.5) * 0x1p-51 - 1.0;
}

}  // namespace

ProximalMap::ProximalMap(const Model& model, const Eigen::MatrixXd& V, const SequenceLoss& loss)
    : tokens_(model.tokens), rank_(model.rank), size_(model.tokens * model.rank), loss_(loss) {
  const Eigen::MatrixXd u = *numerics::cholesky(V);
  const Eigen::MatrixXd inverse = numerics::inverse(u);
  for (int l = 0; l < tokens_; ++l)
    for (int i = 0; i < rank_; ++i)
      for (int j = 0; j < rank_; ++j) {
        color_.push_back(model.sigma[l] * u(i, j));
        whiten_.push_back(inverse(i, j) / model.sigma[l]);
      }
  reach_ = 1.0 / (model.sigma.maxCoeff() * u.diagonal().maxCoeff());
  const auto n = static_cast<std::size_t>(size_);
  for (Packs* packs :
       {&b_, &best_, &start_, &z_, &gradient_, &step_, &at_.w, &at_.gradient, &trial_.w, &trial_.gradient})
    packs->resize(n);
  for (Packs* packs : {&hessian_, &product_, &factor_, &at_.hessian, &trial_.hessian}) packs->resize(n * n);
}

void ProximalMap::multiply(const std::vector<double>& triangles, const Pack* x, Pack* product) const {
  for (int l = 0; l < tokens_; ++l)
    for (int i = 0; i < rank_; ++i) {
      Pack sum{};
      for (int j = 0; j <= i; ++j) sum += triangles[(l * rank_ + i) * rank_ + j] * x[l * rank_ + j];
      product[l * rank_ + i] = sum;
    }
}

void ProximalMap::evaluate(const Pack* label, State& at) {
  const int n = size_, r = rank_;
  multiply(color_, at.w.data(), z_.data());
  at.loss = at.energy = loss_.value(z_.data(), label, gradient_.data(), hessian_.data());
  // With C the block-diagonal matrix of sigma_l U: w - b + C' gradient and 1 + C' Hessian C.
  for (int k = 0; k < n; ++k) {
    const Pack gap = at.w[k] - b_[k];
    at.energy += 0.5 * gap * gap;
    at.gradient[k] = gap;
    const int l = k / r, j = k % r;
    for (int i = j; i < r; ++i) at.gradient[k] += color_[(l * r + i) * r + j] * gradient_[l * r + i];
    for (int row = 0; row < n; ++row) {
      Pack sum{};
      for (int i = j; i < r; ++i) sum += color_[(l * r + i) * r + j] * hessian_[row * n + l * r + i];
      product_[row * n + k] = sum;
    }
  }
  for (int row = 0; row < n; ++row) {
    const int l = row / r, j = row % r;
    for (int column = 0; column <= row; ++column) {
      Pack sum{};
      for (int i = j; i < r; ++i) sum += color_[(l * r + i) * r + j] * product_[(l * r + i) * n + column];
      at.hessian[row * n + column] = row == column ? 1.0 + sum : sum;
    }
  }
}

void ProximalMap::descend(const Pack* label, int steps, double tolerance, State& at) {
  const int n = size_;
  evaluate(label, at);
  // The radius of the lanes whose last step failed shrinks.
  Pack radius = broadcast(reach_);
  for (int iteration = 0; iteration < steps; ++iteration) {
    factor_ = at.hessian;
    factorize(factor_.data(), n);
    for (int k = 0; k < n; ++k) step_[k] = -at.gradient[k];
    solve(factor_.data(), n, step_.data());
    Pack length{};
    for (int k = 0; k < n; ++k) length += step_[k] * step_[k];
    length = numerics::square_root(length);
    const Pack shrink = select(length > radius, radius / length, broadcast(1.0));
    for (int k = 0; k < n; ++k) trial_.w[k] = at.w[k] + shrink * step_[k];
    evaluate(label, trial_);
    const Mask better = trial_.energy <= at.energy + 1e-15;
    for (int k = 0; k < n; ++k) {
      at.w[k] = select(better, trial_.w[k], at.w[k]);
      at.gradient[k] = select(better, trial_.gradient[k], at.gradient[k]);
      for (int j = 0; j <= k; ++j)
        at.hessian[k * n + j] = select(better, trial_.hessian[k * n + j], at.hessian[k * n + j]);
    }
    at.energy = select(better, trial_.energy, at.energy);
    at.loss = select(better, trial_.loss, at.loss);
    radius = select(better, broadcast(reach_), 0.25 * numerics::min(length, radius));
    if (numerics::all(length * shrink <= tolerance * reach_)) break;
  }
}

Pack ProximalMap::minimize(const Pack* c, const Pack* label, int random_starts, std::uint64_t seed, Pack* z) {
  const int n = size_, r = rank_;
  multiply(whiten_, c, b_.data());
  Pack lowest = broadcast(HUGE_VAL);
  const auto from = [&](const auto& component) {
    for (int k = 0; k < n; ++k) start_[k] = component(k);
    multiply(whiten_, start_.data(), at_.w.data());
    descend(label, kQuickSteps, kQuickTolerance, at_);
    const Mask better = at_.energy < lowest;
    lowest = select(better, at_.energy, lowest);
    for (int k = 0; k < n; ++k) best_[k] = select(better, at_.w[k], best_[k]);
  };
  // Of many axes only the single ones, and all at once.
  const unsigned all = (1U << r) - 1U;
  for (unsigned mask = 0; mask <= all; ++mask) {
    const bool wanted = r <= 3 || mask == 0 || mask == all || (mask & (mask - 1U)) == 0;
    if (!wanted) continue;
    const auto sign = [&](int k) { return (mask >> static_cast<unsigned>(k % r)) & 1U ? -1.0 : 1.0; };
    from([&](int k) { return sign(k) * c[k]; });
    from([&](int k) { return sign(k) * z[k]; });
  }
  for (int start = 0; start < random_starts; ++start)
    from([&](int k) {
      Pack p;
      for (int lane = 0; lane < kLanes; ++lane)
        p[lane] =
            kLargestStart * scrambled(seed + static_cast<std::uint64_t>((start * n + k) * kLanes + lane));
      return p;
    });
  at_.w = best_;
  descend(label, kPolishSteps, kPolishTolerance, at_);
  multiply(color_, at_.w.data(), z);
  return at_.energy;
}

void ProximalMap::force(Pack* f) const {
  for (int l = 0; l < tokens_; ++l)
    for (int j = 0; j < rank_; ++j) {
      Pack sum{};
      for (int i = j; i < rank_; ++i) {
        const int k = l * rank_ + i;
        sum += whiten_[(l * rank_ + i) * rank_ + j] * (at_.w[k] - b_[k]);
      }
      f[l * rank_ + j] = sum;
    }
}

// dw/db is the inverse of the Hessian.
void ProximalMap::classical_response(Pack* response) {
  const int n = size_, r = rank_;
  factor_ = at_.hessian;
  factorize(factor_.data(), n);
  std::fill_n(response, r * r, Pack{});
  for (int l = 0; l < tokens_; ++l)
    for (int j = 0; j < r; ++j) {
      std::fill(step_.begin(), step_.end(), Pack{});
      step_[l * r + j] += 1.0;
      solve(factor_.data(), n, step_.data());
      step_[l * r + j] -= 1.0;
      for (int i = 0; i < r; ++i) response[i * r + j] += step_[l * r + i];
    }
}

}  // namespace qksolve::phase
