#include "qksolve/phase/equations/bayes_optimal/prediction.hpp"

#include <algorithm>
#include <cmath>

#include "qksolve/numerics/gauss_rules.hpp"
#include "qksolve/numerics/quasi_random.hpp"
#include "qksolve/numerics/random_normals.hpp"

namespace qksolve::phase::bayes {
namespace {

using Eigen::ArrayXd;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Of the rules for two tokens, in each direction. Beyond, weights leave the range of a double.
constexpr int kFewestNodes = 32, kMostNodes = 256;

// sqrt(weight) times the orthonormal Hermite polynomials of even degree below n at the positive half of n
// Gauss-Hermite nodes, the two halves taken together: an orthogonal matrix, n/2 x n/2 (node, degree/2).
MatrixXd even_hermite(const numerics::GaussRule& rule) {
  const auto n = static_cast<Eigen::Index>(rule.nodes.size());
  MatrixXd P(n / 2, n / 2);
  for (Eigen::Index i = 0; i < n / 2; ++i) {
    const double x = rule.nodes[static_cast<std::size_t>(n / 2 + i)];
    double before = 0, here = 1, sum = 0;
    for (Eigen::Index k = 0; k < n; ++k) {
      if (k % 2 == 0) P(i, k / 2) = here;
      sum += here * here;
      const auto j = static_cast<double>(k);
      const double next = (x * here - std::sqrt(j) * before) / std::sqrt(j + 1);
      before = here;
      here = next;
    }
    // The weight is 1/sum: so with all its digits, which an eigenvector does not have at the outer nodes.
    P.row(i) *= std::sqrt(2 / sum);
  }
  return P;
}

// Adds to weights[n], n = 0, 1, ..., sum over j + k = n of E[S he_2j(x) he_2k(y)]^2, where S is the logistic
// function of a x^2 + b y^2.
void add_weights(double a, double b, int nodes, std::vector<double>& weights) {
  const numerics::GaussRule rule = numerics::gauss_hermite(nodes);
  const MatrixXd P = even_hermite(rule);
  const ArrayXd x = Eigen::Map<const ArrayXd>(rule.nodes.data() + nodes / 2, nodes / 2).square();
  const ArrayXd root = P.col(0).array();  // sqrt(2 weight)
  MatrixXd S(nodes / 2, nodes / 2);
  for (Eigen::Index j = 0; j < nodes / 2; ++j) S.col(j) = root * root(j) / (1 + (-(a * x + b * x(j))).exp());
  const MatrixXd c = P.transpose() * S * P;
  weights.resize(static_cast<std::size_t>(nodes), 0.0);
  for (Eigen::Index j = 0; j < nodes / 2; ++j)
    for (Eigen::Index k = 0; k < nodes / 2; ++k)
      weights[static_cast<std::size_t>(j + k)] += c(j, k) * c(j, k);
}

// Of S_11 and S_22: their arguments h_1 (h_1 - h_2) and h_2 (h_2 - h_1) are quadratic forms, diagonal in
// rotated coordinates.
std::vector<double> series_weights(const VectorXd& sigma, int nodes) {
  std::vector<double> weights;
  for (const int l : {0, 1}) {
    if (l == 1 && sigma(0) == sigma(1)) {
      for (double& w : weights) w *= 2;
      break;
    }
    const double square = sigma(l) * sigma(l), off = -0.5 * sigma(0) * sigma(1);
    const double radius = std::hypot(0.5 * square, off);
    // The smaller eigenvalue by the product of the two.
    const double large = 0.5 * square + radius;
    add_weights(large, -off * off / large, nodes, weights);
  }
  return weights;
}

// sum_n W_n (1 - q^{2n}).
double variance_of_series(const std::vector<double>& weights, const State& state) {
  const double log_q = state.q < 0.5 ? std::log(state.q) : std::log1p(-state.mse);
  double sum = 0;
  for (std::size_t n = 1; n < weights.size(); ++n)
    sum -= weights[n] * std::expm1(2 * static_cast<double>(n) * log_q);
  return sum;
}

// sum_lk sigma_k^2 (S_lk(h) - S_lk(other))^2; `work` has the size of h.
double attention_gap(const ArrayXd& variance, const ArrayXd& h, const ArrayXd& other, ArrayXd& work,
                     ArrayXd& other_work) {
  const auto row = [](const ArrayXd& x, Eigen::Index l, ArrayXd& out) {
    out = x(l) * x;
    out = (out - out.maxCoeff()).exp();
    out /= out.sum();
  };
  double sum = 0;
  for (Eigen::Index l = 0; l < h.size(); ++l) {
    row(h, l, work);
    row(other, l, other_work);
    sum += (variance * (work - other_work).square()).sum();
  }
  return sum;
}

}  // namespace

Predictor::Predictor(const VectorXd& sigma, double tolerance, std::uint64_t seed)
    : sigma_(sigma), channel_(static_cast<int>(sigma.size())), tolerance_(tolerance), seed_(seed) {
  if (sigma_.size() == 2) refine_series();
}

void Predictor::refine_series() {
  // Differences between rules matter most where all high degrees count.
  const State nearly_known{1 - 1e-6, 1e-6};
  int nodes = kFewestNodes;
  fine_ = series_weights(sigma_, nodes);
  while (nodes < kMostNodes) {
    nodes *= 2;
    coarse_ = std::move(fine_);
    fine_ = series_weights(sigma_, nodes);
    const double change = variance_of_series(fine_, nearly_known) - variance_of_series(coarse_, nearly_known);
    if (std::abs(change) <= 0.1 * tolerance_ * variance_of_series(fine_, nearly_known)) break;
  }
}

Prediction Predictor::operator()(const State& state) const {
  if (state.mse == 0) return {0, 0};
  return sigma_.size() == 2 ? by_series(state) : by_sampling(state);
}

double Predictor::alpha_at(double error) const {
  if (!(error < (*this)({0, 1}).error)) return 0;
  return fixed_point_alpha(channel_,
                           increasing_root([&](const State& state) { return error - (*this)(state).error; }));
}

Prediction Predictor::by_series(const State& state) const {
  const double factor = 0.5 * sigma_.squaredNorm();
  const double value = variance_of_series(fine_, state);
  return {factor * value, factor * (std::abs(value - variance_of_series(coarse_, state)) + 1e-14 * value)};
}

// 2 Var(S | w) = E |S(z) - S(z')|^2 with z and z' independent given w: of the sum and the difference of the
// two only the difference is small.
Prediction Predictor::by_sampling(const State& state) const {
  const auto L = sigma_.size();
  const ArrayXd sigma = sigma_.array();
  const double common = std::sqrt(0.5 * (1 + state.q)), apart = std::sqrt(0.5 * state.mse);
  constexpr int kReplicates = 16, kMostLog2 = 19;
  ArrayXd middle(L), half(L), work(L), other_work(L);
  Prediction found{0, 0};
  for (int log2_points = 9; log2_points <= kMostLog2; log2_points += 2) {
    const Eigen::Index points = Eigen::Index{1} << log2_points;
    ArrayXd means(kReplicates);
    for (int r = 0; r < kReplicates; ++r) {
      MatrixXd normals(points, 2 * L);
      if (2 * L <= 60) {
        const std::vector<double> sobol =
            numerics::shifted_sobol_normals(static_cast<int>(2 * L), log2_points, seed_, r);
        normals = Eigen::Map<const MatrixXd>(sobol.data(), points, 2 * L);
      } else {
        for (Eigen::Index k = 0; k < 2 * L; ++k)
          numerics::fill_normals({seed_, 0x62617965, static_cast<std::uint64_t>(r), 0},
                                 static_cast<std::uint64_t>(k), normals.col(k).data(),
                                 static_cast<std::size_t>(points));
      }
      double sum = 0;
      for (Eigen::Index i = 0; i < points; ++i) {
        middle = sigma * common * normals.row(i).head(L).transpose().array();
        half = sigma * apart * normals.row(i).tail(L).transpose().array();
        sum += attention_gap(sigma.square(), middle + half, middle - half, work, other_work);
      }
      means(r) = 0.25 * sum / static_cast<double>(points);
    }
    found.error = means.mean();
    found.uncertainty = std::sqrt((means - found.error).square().sum() / (kReplicates * (kReplicates - 1.0)));
    if (found.uncertainty <= tolerance_ * found.error) break;
  }
  return found;
}

}  // namespace qksolve::phase::bayes
