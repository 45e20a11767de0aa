#include "qksolve/phase/random_quadrature.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "qksolve/numerics/parallel.hpp"
#include "qksolve/numerics/quasi_random.hpp"
#include "qksolve/phase/two_token_proximal.hpp"
#include "qksolve/phase/two_token_teacher.hpp"

namespace qksolve::phase {

using numerics::Pack;

namespace {

constexpr std::size_t kBlock = 512;  // points summed by one thread at a time

struct Sums {
  Pack loss{}, force_square{}, force_noise{}, force_zeta{}, force_position{}, classical{};
};

Moments moments_on(const std::vector<double>& normals, const Model& model, const Overlaps& o, int threads) {
  const double sigma = model.sigma[0], variance = sigma * sigma;
  const double theta = o.theta(0, 0), m = o.m(0, 0), v = o.V(0, 0);
  const double noise = std::sqrt(o.q(0, 0) - theta * theta);
  const double tau = variance * variance * v;
  const Eigen::MatrixXd& b = model.positional_matrix;
  const double b_w = (b(0, 0) - b(1, 0)) / std::numbers::sqrt2,
               b_y = (b(0, 0) + b(1, 0)) / std::numbers::sqrt2;

  const std::size_t count = normals.size() / 4, blocks = (count + kBlock - 1) / kBlock;
  std::vector<Sums> sums(blocks);
  auto sum_block = [&](std::ptrdiff_t block) {
    Sums& s = sums[block];
    const std::size_t first = static_cast<std::size_t>(block) * kBlock,
                      last = std::min(count, first + kBlock);
    for (std::size_t i = first; i < last; i += numerics::kLanes) {
      const Pack zeta_w = numerics::load(&normals[i]), zeta_y = numerics::load(&normals[count + i]);
      const Pack noise_w = numerics::load(&normals[2 * count + i]),
                 noise_y = numerics::load(&normals[3 * count + i]);
      TwoTokenLabel label;
      for (int k = 0; k < numerics::kLanes; ++k) {
        double t1, t2;
        teacher_attention(model, zeta_w[k], zeta_y[k], t1, t2);
        label.t1[k] = t1;
        label.t2[k] = t2;
      }
      const Pack x = b_w * m + sigma * (theta * zeta_w + noise * noise_w);
      const Pack y = b_y * m + sigma * (theta * zeta_y + noise * noise_y);
      const ProximalPoint p = two_token_proximal(label, tau, x, y);
      const Pack fw = (p.w - x) / (variance * v), fy = (p.y - y) / (variance * v);
      s.loss += p.loss.value;
      s.force_square += fw * fw + fy * fy;
      s.force_noise += fw * noise_w + fy * noise_y;
      s.force_zeta += fw * zeta_w + fy * zeta_y;
      s.force_position += b_w * fw + b_y * fy;
      const Pack jww = 1.0 + tau * p.loss.dww, jyy = 1.0 + tau * p.loss.dyy, jwy = tau * p.loss.dwy;
      s.classical += (jww + jyy) / (jww * jyy - jwy * jwy) - 2.0;
    }
  };
  numerics::parallel_for(static_cast<std::ptrdiff_t>(blocks), threads, 1, [&] { return sum_block; });
  Sums total;
  for (const Sums& s : sums) {
    total.loss += s.loss;
    total.force_square += s.force_square;
    total.force_noise += s.force_noise;
    total.force_zeta += s.force_zeta;
    total.force_position += s.force_position;
    total.classical += s.classical;
  }
  auto mean = [count](Pack p) { return numerics::sum(p) / static_cast<double>(count); };
  Moments result(1, 1, 1);
  result.mass = 1.0;
  result.loss = variance * mean(total.loss);
  result.force_outer(0, 0) = variance * mean(total.force_square);
  result.response(0, 0) = sigma * mean(total.force_noise) / noise;
  result.classical_response(0, 0) = mean(total.classical) / v;
  result.teacher_response(0, 0) = sigma * mean(total.force_zeta) - result.response(0, 0) * theta;
  result.positional_force(0, 0) = mean(total.force_position);
  return result;
}

}  // namespace

Quadrature random_quadrature(const Model& model, std::uint64_t seed, int threads) {
  if (!is_two_token(model))
    throw std::invalid_argument("this quadrature needs two tokens of equal sigma at rank one");
  // The points of the last (level, replicate): a fixed point asks for the same ones many times over.
  struct Cache {
    int level = -1, replicate = -1;
    std::vector<double> normals;
  };
  auto cache = std::make_shared<Cache>();
  auto evaluate = [=](const Overlaps& o, int level, int replicate) {
    if (cache->level != level || cache->replicate != replicate) {
      cache->normals = numerics::shifted_sobol_normals(4, 10 + 2 * level, seed, replicate);
      cache->level = level;
      cache->replicate = replicate;
    }
    return moments_on(cache->normals, model, o, threads);
  };
  return {
      "qmc", kRandomLevels, kRandomReplicates, evaluate, two_token_test_error(model), linear_baseline(model)};
}

}  // namespace qksolve::phase
