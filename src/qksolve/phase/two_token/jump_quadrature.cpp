#include "qksolve/phase/two_token/jump_quadrature.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "qksolve/numerics/gauss_rules.hpp"
#include "qksolve/numerics/parallel.hpp"
#include "qksolve/phase/two_token/line.hpp"
#include "qksolve/phase/two_token/teacher.hpp"

namespace qksolve::phase {

using numerics::Pack;

namespace {

constexpr double kReach = 6.5;  // standard deviations of the centre that are integrated; 8e-11 lies beyond
// Up to this sigma a level's lines are enough; twice as many at twice as much. Not a function of the
// overlaps: the map must be continuous.
constexpr double kFewLinesSigma = 0.75;
constexpr double kPanelWidth = 3.3;  // largest panel, in standard deviations of the centre

// Sums over the lines of one label, all in units in which sigma^2 is taken out of the loss.
struct Sums {
  double mass = 0, loss = 0, force_square = 0, force_w = 0, force_y = 0, force_noise = 0, classical = 0,
         jump = 0;
};

// The Gaussian law of the centre given the teacher, in rotated coordinates.
struct Centre {
  double mean_w, mean_y, deviation;
};

class LineIntegrator {
 public:
  explicit LineIntegrator(const JumpRule& rule)
      : cells_(rule.cells),
        points_(rule.cells / 2 + 1),
        panel_(numerics::gauss_legendre(rule.panel_nodes)),
        lines_(numerics::gauss_hermite(rule.lines)) {}

  Sums integrate(double t1, double t2, double tau, const Centre& centre) {
    Sums sums;
    TwoTokenLine line(t1, t2, tau);
    for (std::size_t i = 0; i < lines_.nodes.size(); ++i) {
      line.move_to(centre.mean_y + centre.deviation * lines_.nodes[i]);
      place_nodes(line, centre);
      if (contact_.stretches.size() > 1) sums.jump += lines_.weights[i];
      add_line(line, tau, centre, lines_.nodes[i], lines_.weights[i], sums);
    }
    return sums;
  }

 private:
  // Panels on every stretch of the contact set, none wider than kPanelWidth standard deviations of the
  // centre.
  void place_nodes(const TwoTokenLine& line, const Centre& centre) {
    const double reach = kReach * centre.deviation, widest = kPanelWidth * centre.deviation;
    line.contact(centre.mean_w - reach, centre.mean_w + reach, cells_, contact_);
    nodes_.clear();
    weights_.clear();
    for (const TwoTokenLine::Stretch& s : contact_.stretches) {
      const double length = s.x_high - s.x_low;
      const int panels = std::max(1, static_cast<int>(std::ceil(length / widest)));
      const auto begin = std::upper_bound(contact_.x.begin(), contact_.x.end(), s.x_low);
      const auto end = std::lower_bound(begin, contact_.x.end(), s.x_high);
      edges_.assign(1, s.w_low);
      if (end - begin <= panels * points_) {
        for (int p = 1; p < panels; ++p) edges_.push_back(contact_.w_at(s.x_low + length * p / panels));
      } else {
        // The line was refined: panels where its points are.
        double from = s.x_low;
        std::ptrdiff_t points = 0;
        for (auto x = begin; x != end; ++x) {
          const double next = x + 1 == end ? s.x_high : *(x + 1);
          if (++points < points_ && next - from <= widest) continue;
          edges_.push_back(contact_.w[static_cast<std::size_t>(x - contact_.x.begin())]);
          from = *x;
          points = 0;
        }
      }
      edges_.push_back(s.w_high);
      for (std::size_t p = 1; p < edges_.size(); ++p) {
        const double from = edges_[p - 1];
        const double to = edges_[p] = std::clamp(edges_[p], from, std::max(from, s.w_high));
        for (std::size_t k = 0; k < panel_.nodes.size(); ++k) {
          nodes_.push_back(from + 0.5 * (to - from) * (1.0 + panel_.nodes[k]));
          weights_.push_back(0.5 * (to - from) * panel_.weights[k]);
        }
      }
    }
    while (nodes_.size() % numerics::kLanes != 0) {
      nodes_.push_back(nodes_.back());
      weights_.push_back(0.0);
    }
  }

  void add_line(const TwoTokenLine& line, double tau, const Centre& centre, double noise_y,
                double line_weight, Sums& sums) const {
    const double density = line_weight / (centre.deviation * std::sqrt(2.0 * std::numbers::pi));
    Pack mass{}, loss{}, force_square{}, force_w{}, force_y{}, force_noise{}, classical{};
    for (std::size_t k = 0; k < nodes_.size(); k += numerics::kLanes) {
      const TwoTokenLine::Point p = line.evaluate(numerics::load(&nodes_[k]));
      const Pack noise_w = (p.x - centre.mean_w) / centre.deviation;
      const Pack weight_w =
          numerics::load(&weights_[k]) * (density * numerics::exp(-0.5 * noise_w * noise_w));
      const Pack weight = weight_w * p.slope;  // dx = slope dw
      const Pack fw = -p.loss.dw, fy = -p.loss.dy;
      mass += weight;
      loss += weight * p.loss.value;
      force_square += weight * (fw * fw + fy * fy);
      force_w += weight * fw;
      force_y += weight * fy;
      force_noise += weight * (fw * noise_w + fy * noise_y);
      // tr dz/dc = (J_ww + J_yy)/det J with J = 1 + tau P'', and slope = det J / J_yy.
      const Pack jww = 1.0 + tau * p.loss.dww, jyy = 1.0 + tau * p.loss.dyy;
      classical += weight_w * (jww + jyy) / jyy - 2.0 * weight;
    }
    sums.mass += numerics::sum(mass);
    sums.loss += numerics::sum(loss);
    sums.force_square += numerics::sum(force_square);
    sums.force_w += numerics::sum(force_w);
    sums.force_y += numerics::sum(force_y);
    sums.force_noise += numerics::sum(force_noise);
    sums.classical += numerics::sum(classical);
  }

  int cells_, points_;  // points: of the contact set, on a panel
  numerics::GaussRule panel_, lines_;
  TwoTokenLine::Contact contact_;
  std::vector<double> edges_, nodes_, weights_;
};

}  // namespace

JumpRule jump_rule(int level) {
  // The radius limits the accuracy: the pitchfork at which jumps set in lies on a curve in the teacher plane.
  static constexpr std::array<JumpRule, kJumpLevels> kRules{{{6, 12, 6, 8, 15},
                                                             {8, 18, 8, 8, 15},
                                                             {12, 26, 8, 10, 23},
                                                             {16, 36, 10, 12, 31},
                                                             {24, 52, 12, 12, 47},
                                                             {32, 76, 16, 14, 63},
                                                             {48, 110, 20, 16, 95},
                                                             {72, 160, 26, 16, 127},
                                                             {104, 230, 32, 20, 127}}};
  return kRules.at(static_cast<std::size_t>(level));
}

Moments jump_moments(const Model& model, const Overlaps& o, const JumpRule& rule, int threads,
                     const numerics::Interrupt& interrupted) {
  const double sigma = model.sigma[0], variance = sigma * sigma;
  const double q = o.q(0, 0), theta = o.theta(0, 0), m = o.m(0, 0), v = o.V(0, 0);
  const double noise = std::sqrt(q - theta * theta);
  const double tau = variance * variance * v;
  const Eigen::MatrixXd& b = model.positional_matrix;
  const double b_w = (b(0, 0) - b(1, 0)) / std::numbers::sqrt2,
               b_y = (b(0, 0) + b(1, 0)) / std::numbers::sqrt2;

  JumpRule own = rule;
  const int doublings = static_cast<int>(std::ceil(std::log2(std::max(1.0, sigma / kFewLinesSigma))));
  own.lines <<= doublings;
  const auto nodes = teacher_rule(model, rule.angles, rule.radii, kReach, theta == 0.0 || m == 0.0);
  std::vector<Sums> sums(nodes.size());
  numerics::parallel_for(
      static_cast<std::ptrdiff_t>(nodes.size()), threads, 4,
      [&] {
        return [&, integrator = LineIntegrator(own)](std::ptrdiff_t i) mutable {
          const TeacherNode& node = nodes[i];
          const Centre centre{sigma * theta * node.zeta_w + b_w * m, sigma * theta * node.zeta_y + b_y * m,
                              sigma * noise};
          sums[i] = integrator.integrate(node.t1, node.t2, tau, centre);
        };
      },
      interrupted);

  // The force is sigma^2 times its sums here. The sum runs in the order of the nodes, so that it does not
  // depend on the threads.
  double loss = 0, square = 0, noise_part = 0, classical = 0, teacher = 0, positional = 0, jump = 0, mass = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Sums& s = sums[i];
    const double weight = nodes[i].weight;
    mass += weight * s.mass;
    loss += weight * s.loss;
    square += weight * s.force_square;
    noise_part += weight * s.force_noise;
    classical += weight * s.classical;
    teacher += weight * (s.force_w * nodes[i].zeta_w + s.force_y * nodes[i].zeta_y);
    positional += weight * (b_w * s.force_w + b_y * s.force_y);
    jump += weight * s.jump;
  }
  Moments result(1, 1, 1);
  result.mass = mass;
  result.jump_mass = jump;
  result.loss = variance * loss;
  result.force_outer(0, 0) = variance * variance * variance * square;
  result.response(0, 0) = sigma * variance * noise_part / noise;
  result.classical_response(0, 0) = classical / v;  // sigma^2 tr(dz/dc - 1)/(sigma^2 V)
  // With theta = 0 or m = 0 the integrand of one mean is odd in zeta; the half turn of angles does not see
  // that.
  if (theta == 0.0) teacher = 0.0;
  if (m == 0.0) positional = 0.0;
  result.teacher_response(0, 0) = sigma * variance * teacher - result.response(0, 0) * theta;
  result.positional_force(0, 0) = variance * positional;
  return result;
}

Quadrature jump_quadrature(const Model& model, int threads, const numerics::Interrupt& interrupted) {
  if (!is_two_token(model))
    throw std::invalid_argument("the jump quadrature needs two tokens of equal sigma at rank one");
  auto evaluate = [model, threads, interrupted](const Overlaps& o, int level, int) {
    return jump_moments(model, o, jump_rule(level), threads, interrupted);
  };
  return {"jump", kJumpLevels, 1, evaluate, two_token_test_error(model), linear_baseline(model)};
}

}  // namespace qksolve::phase
