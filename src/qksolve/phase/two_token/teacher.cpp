#include "qksolve/phase/two_token/teacher.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "qksolve/numerics/gauss_rules.hpp"
#include "qksolve/numerics/pack.hpp"

namespace qksolve::phase {

using numerics::Pack;

namespace {

double logistic(double u) { return 1.0 / (1.0 + std::exp(-u)); }

constexpr int kLargestRule = 1024;

}  // namespace

bool is_two_token(const Model& model) {
  return model.tokens == 2 && model.rank == 1 && model.teacher_rank == 1 &&
         model.sigma[0] == model.sigma[1] && model.directions() == 1;
}

void teacher_attention(const Model& model, double zeta_w, double zeta_y, double& t1, double& t2) {
  const double variance = model.sigma[0] * model.sigma[0];
  const Eigen::MatrixXd& a = model.teacher_matrix;
  t1 = (1.0 - model.omega) * logistic(variance * zeta_w * (zeta_w + zeta_y)) + model.omega * a(0, 0);
  t2 = (1.0 - model.omega) * logistic(variance * zeta_w * (zeta_w - zeta_y)) + model.omega * a(1, 1);
}

std::vector<TeacherNode> teacher_rule(const Model& model, int angles, int radii, double radius, bool half) {
  const numerics::GaussRule radial = numerics::gauss_legendre(radii);
  const int count = half ? angles : 2 * angles;
  std::vector<TeacherNode> nodes;
  nodes.reserve(static_cast<std::size_t>(count) * radii);
  for (int a = 0; a < count; ++a) {
    const double angle = std::numbers::pi * (a + 0.5) / angles;
    for (int k = 0; k < radii; ++k) {
      const double rho = 0.5 * radius * (1.0 + radial.nodes[k]);
      TeacherNode node{rho * std::cos(angle), rho * std::sin(angle), 0.0, 0.0, 0.0};
      node.weight = 0.5 * radius * radial.weights[k] * rho * std::exp(-0.5 * rho * rho) / count;
      teacher_attention(model, node.zeta_w, node.zeta_y, node.t1, node.t2);
      nodes.push_back(node);
    }
  }
  return nodes;
}

double linear_baseline(const Model& model) {
  const double variance = model.sigma[0] * model.sigma[0];
  double last = std::numeric_limits<double>::infinity();
  for (int n = 16; n <= kLargestRule; n *= 2) {
    double mass = 0, mean1 = 0, mean2 = 0, square = 0;
    for (const TeacherNode& node : teacher_rule(model, n, 2 * n, 9.0, true)) {
      const double a = node.t1 - 0.5, b = node.t2 - 0.5;
      mass += node.weight;
      mean1 += node.weight * a;
      mean2 += node.weight * b;
      square += node.weight * (a * a + b * b);
    }
    mean1 /= mass;
    mean2 /= mass;
    const double value = variance * std::max(0.0, square / mass - mean1 * mean1 - mean2 * mean2);
    if (std::abs(value - last) <= 1e-13 * variance + 1e-12 * value) return value;
    last = value;
  }
  return last;
}

double two_token_generalization_error(const Model& model, const Overlaps& o, double tolerance,
                                      double& error) {
  const double sigma = model.sigma[0], theta = o.theta(0, 0);
  const double deviation = sigma * std::sqrt(o.q(0, 0) - theta * theta);
  const Eigen::MatrixXd& b = model.positional_matrix;
  const double mean_w = o.m(0, 0) * (b(0, 0) - b(1, 0)) / std::numbers::sqrt2;
  const double mean_y = o.m(0, 0) * (b(0, 0) + b(1, 0)) / std::numbers::sqrt2;
  const bool even = theta == 0.0 || o.m(0, 0) == 0.0;

  auto integrate = [&](int n) {
    const numerics::GaussRule rule = numerics::gauss_hermite(n * numerics::kLanes);
    double total = 0;
    for (const TeacherNode& node : teacher_rule(model, 8 * n, 16 * n, 7.0, even)) {
      const double at_w = mean_w + sigma * theta * node.zeta_w, at_y = mean_y + sigma * theta * node.zeta_y;
      Pack inner{};
      for (std::size_t i = 0; i < rule.nodes.size(); ++i) {
        const double y = at_y + deviation * rule.nodes[i];
        for (std::size_t j = 0; j < rule.nodes.size(); j += numerics::kLanes) {
          const Pack w = at_w + deviation * numerics::load(&rule.nodes[j]);
          const Pack gap1 = 1.0 / (1.0 + numerics::exp(-w * (w + y))) - node.t1;
          const Pack gap2 = 1.0 / (1.0 + numerics::exp(-w * (w - y))) - node.t2;
          inner += rule.weights[i] * numerics::load(&rule.weights[j]) * (gap1 * gap1 + gap2 * gap2);
        }
      }
      total += node.weight * numerics::sum(inner);
    }
    return sigma * sigma * total;
  };
  double value = integrate(1);
  for (int n = 2; n <= 8; ++n) {
    const double refined = integrate(n);
    error = std::abs(refined - value);
    value = refined;
    if (error <= tolerance * value) break;
  }
  return value;
}

std::function<double(const Overlaps&, double, double&)> two_token_test_error(const Model& model) {
  return [model](const Overlaps& overlaps, double tolerance, double& error) {
    return two_token_generalization_error(model, overlaps, tolerance, error);
  };
}

}  // namespace qksolve::phase
