// The general attention loss: derivatives by finite differences, value against a plain computation; its
// proximal map: global minima against an exhaustive search and against the two-token map.
#include <doctest/doctest.h>

#include <Eigen/Core>
#include <Eigen/LU>
#include <array>
#include <cmath>
#include <random>

#include "qksolve/phase/finite_size/draws.hpp"
#include "qksolve/phase/general/proximal.hpp"
#include "qksolve/phase/two_token/proximal.hpp"

using namespace qksolve::phase;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using qksolve::numerics::broadcast;
using qksolve::numerics::kLanes;
using qksolve::numerics::Pack;

namespace {

struct Random {
  std::mt19937_64 engine;
  double operator()(double low, double high) {
    return low + (high - low) * static_cast<double>(engine() >> 11) * 0x1p-53;
  }
};

Model random_model(int tokens, int rank, int teacher_rank, Random& random) {
  Model model;
  model.tokens = tokens;
  model.rank = rank;
  model.teacher_rank = teacher_rank;
  model.sigma = VectorXd::Zero(tokens);
  for (double& s : model.sigma) s = random(0.4, 0.9);
  model.teacher_matrix = MatrixXd::Zero(tokens, tokens);
  for (int l = 0; l < tokens; ++l) {
    for (int m = 0; m < tokens; ++m) model.teacher_matrix(l, m) = random(0, 1);
    model.teacher_matrix.row(l) /= model.teacher_matrix.row(l).sum();
  }
  model.positional_matrix = VectorXd::LinSpaced(tokens, 1, -1);
  return model;
}

// One sample in every lane.
struct Sample {
  std::vector<Pack> label;
  MatrixXd T;
};

Sample random_sample(const Model& model, const SequenceLoss& loss, Random& random) {
  MatrixXd h(model.tokens, model.teacher_rank);
  std::vector<Pack> packs;
  for (int l = 0; l < model.tokens; ++l)
    for (int k = 0; k < model.teacher_rank; ++k) {
      h(l, k) = random(-1.5, 1.5);
      packs.push_back(broadcast(h(l, k)));
    }
  Sample sample{std::vector<Pack>(static_cast<std::size_t>(loss.label_size)), teacher_attention(model, h)};
  loss.label(packs.data(), sample.label.data());
  return sample;
}

std::vector<Pack> as_packs(const VectorXd& z) {
  std::vector<Pack> packs;
  for (const double x : z) packs.push_back(broadcast(x));
  return packs;
}

double plain_loss(const Model& model, const VectorXd& z, const MatrixXd& T) {
  MatrixXd h(model.tokens, model.rank);
  for (int l = 0; l < model.tokens; ++l)
    for (int k = 0; k < model.rank; ++k) h(l, k) = z[l * model.rank + k];
  return 0.5 * ((softmax_attention(h) - T).cwiseAbs2() * model.sigma.cwiseAbs2()).sum();
}

}  // namespace

TEST_CASE("attention loss: value, gradient and Hessian for random tokens and ranks") {
  Random random{std::mt19937_64(3)};
  const std::vector<std::array<int, 3>> shapes{{2, 1, 1}, {2, 2, 1}, {3, 1, 1}, {3, 2, 2},
                                               {2, 3, 2}, {5, 1, 3}, {4, 3, 1}};
  for (const auto& [tokens, rank, teacher_rank] : shapes) {
    const Model model = random_model(tokens, rank, teacher_rank, random);
    const SequenceLoss loss = attention_loss(model);
    const int n = tokens * rank;
    for (int trial = 0; trial < 5; ++trial) {
      const Sample sample = random_sample(model, loss, random);
      for (int i = 0; i < tokens * tokens; ++i)
        CHECK(sample.label[i][0] == doctest::Approx(sample.T(i / tokens, i % tokens)).epsilon(1e-14));
      VectorXd z(n);
      for (double& x : z) x = random(-1.5, 1.5);
      std::vector<Pack> gradient(n), hessian(n * n);
      const Pack value = loss.value(as_packs(z).data(), sample.label.data(), gradient.data(), hessian.data());
      CHECK(value[kLanes - 1] == doctest::Approx(plain_loss(model, z, sample.T)).epsilon(1e-13));
      CHECK(loss.value(as_packs(z).data(), sample.label.data(), nullptr, nullptr)[0] == value[0]);
      const double h = 1e-4;
      for (int i = 0; i < n; ++i) {
        VectorXd up = z, down = z;
        up[i] += h;
        down[i] -= h;
        const double slope = (plain_loss(model, up, sample.T) - plain_loss(model, down, sample.T)) / (2 * h);
        CHECK(gradient[i][0] == doctest::Approx(slope).epsilon(1e-7).scale(1));
        std::vector<Pack> high(n), low(n);
        loss.value(as_packs(up).data(), sample.label.data(), high.data(), nullptr);
        loss.value(as_packs(down).data(), sample.label.data(), low.data(), nullptr);
        for (int j = 0; j < n; ++j)
          CHECK(hessian[i * n + j][0] ==
                doctest::Approx((high[j][0] - low[j][0]) / (2 * h)).epsilon(1e-7).scale(1));
      }
    }
  }
}

TEST_CASE("general proximal map: no random search finds a lower energy") {
  Random random{std::mt19937_64(5)};
  const std::vector<std::array<int, 2>> shapes{{2, 1}, {3, 1}, {2, 2}, {3, 2}, {4, 1}};
  for (const auto& [tokens, rank] : shapes) {
    const Model model = random_model(tokens, rank, 1, random);
    const SequenceLoss loss = attention_loss(model);
    const int n = tokens * rank;
    for (int trial = 0; trial < 12; ++trial) {
      const Sample sample = random_sample(model, loss, random);
      MatrixXd root(rank, rank);
      for (double& x : root.reshaped()) x = random(-1, 1);
      const MatrixXd V = random(10, 80) * (root * root.transpose() + MatrixXd::Identity(rank, rank));
      // Every third centre next to the origin, through which jumps run.
      VectorXd c(n);
      for (double& x : c) x = random(-1, 1) * (trial % 3 == 0 ? 0.02 : 1.0);
      ProximalMap map(model, V, loss);
      std::vector<Pack> z = as_packs(c);
      const double found = map.minimize(as_packs(c).data(), sample.label.data(), 8, 1, z.data())[0];

      const MatrixXd inverse = V.inverse();
      const auto energy = [&](const VectorXd& at) {
        double e = plain_loss(model, at, sample.T);
        for (int l = 0; l < tokens; ++l) {
          const VectorXd gap = (at - c).segment(l * rank, rank) / model.sigma[l];
          e += 0.5 * gap.dot(inverse * gap);
        }
        return e;
      };
      VectorXd at(n);
      for (int i = 0; i < n; ++i) at[i] = z[i][0];
      CHECK(energy(at) == doctest::Approx(found).epsilon(1e-12));
      // Random points, the best of them improved by ever smaller random steps.
      for (int search = 0; search < 6; ++search) {
        VectorXd best = c;
        for (int k = 0; k < 3000; ++k) {
          VectorXd point(n);
          for (double& x : point) x = random(-3, 3);
          if (energy(point) < energy(best)) best = point;
        }
        double step = 0.5;
        for (int k = 0; k < 4000; ++k) {
          VectorXd point = best;
          for (double& x : point) x += step * random(-1, 1);
          if (energy(point) < energy(best))
            best = point;
          else
            step = std::max(1e-6, 0.995 * step);
        }
        CHECK(energy(best) >= found - 1e-12);
      }
    }
  }
}

TEST_CASE("general proximal map: at two tokens and rank one it is the two-token map") {
  Random random{std::mt19937_64(9)};
  Model model;
  model.omega = 0;
  const SequenceLoss loss = attention_loss(model);
  const double variance = 0.25, root2 = std::sqrt(2.0);
  for (int trial = 0; trial < 300; ++trial) {
    const double V = std::exp(random(1, 4.5)), t1 = random(0, 1), t2 = random(0, 1);
    const double c1 = random(-1, 1), c2 = random(-1, 1);
    std::vector<Pack> label{broadcast(t1), broadcast(1 - t1), broadcast(1 - t2), broadcast(t2)};
    ProximalMap map(model, MatrixXd::Constant(1, 1, V), loss);
    std::vector<Pack> z = as_packs(Eigen::Vector2d(c1, c2));
    map.minimize(as_packs(Eigen::Vector2d(c1, c2)).data(), label.data(), 8, 1, z.data());
    const ProximalPoint p = two_token_proximal({broadcast(t1), broadcast(t2)}, variance * variance * V,
                                               broadcast((c1 - c2) / root2), broadcast((c1 + c2) / root2));
    CHECK(z[0][0] == doctest::Approx((p.w[0] + p.y[0]) / root2).epsilon(1e-7).scale(1));
    CHECK(z[1][0] == doctest::Approx((p.y[0] - p.w[0]) / root2).epsilon(1e-7).scale(1));
    std::vector<Pack> force(2);
    map.force(force.data());
    CHECK(force[0][0] == doctest::Approx((z[0][0] - c1) / (variance * V)).epsilon(1e-9).scale(1));
  }
}
