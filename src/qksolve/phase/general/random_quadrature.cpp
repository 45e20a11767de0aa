#include "qksolve/phase/general/random_quadrature.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "qksolve/numerics/dense.hpp"
#include "qksolve/numerics/parallel.hpp"
#include "qksolve/numerics/quasi_random.hpp"
#include "qksolve/phase/general/proximal.hpp"

namespace qksolve::phase {

using Eigen::MatrixXd;
using numerics::kLanes;
using numerics::Pack;

namespace {

constexpr std::size_t kBlock = 512;  // points summed by one thread at a time
// Starts of a descent in random directions, beside those that the minimum found before suggests.
constexpr int kFirstStarts = 8, kFurtherStarts = 2;
constexpr int kBaselineLevel = 3;
constexpr double kLargestMemory = 9e8;  // bytes

using Packs = std::vector<Pack>;

// The nodes of one (level, replicate) and what is known of them.
struct Nodes {
  std::vector<double> normals;  // coordinate-major: L r* of the teacher, then L r of the student
  std::size_t count = 0;
};

// Where the proximal map found the minima of a replicate: z of every node, [node pack][component][lane]. In
// single precision: they are starts, nothing else.
struct Minima {
  std::vector<float> z;
  std::uint64_t visits = 0;
};

// Means of one block of nodes.
struct Sums {
  Pack loss{}, test_loss{};
  Packs force_outer, force_noise, force_teacher, force_position, classical;

  explicit Sums(const Model& m)
      : force_outer(static_cast<std::size_t>(m.rank * m.rank)),
        force_noise(force_outer.size()),
        force_teacher(static_cast<std::size_t>(m.rank * m.teacher_rank)),
        force_position(static_cast<std::size_t>(m.rank * m.directions())),
        classical(force_outer.size()) {}

  void operator+=(const Sums& other) {
    loss += other.loss;
    test_loss += other.test_loss;
    for (auto member : {&Sums::force_outer, &Sums::force_noise, &Sums::force_teacher, &Sums::force_position,
                        &Sums::classical})
      for (std::size_t i = 0; i < (this->*member).size(); ++i) (this->*member)[i] += (other.*member)[i];
  }
};

// Sums over the nodes at given overlaps.
class Integrand {
 public:
  Integrand(const Model& model, const SequenceLoss& loss, const Overlaps& o, const Nodes& nodes,
            Minima& minima)
      : model_(model), loss_(loss), o_(o), nodes_(nodes), minima_(minima), proximal_(model, o.V, loss) {
    noise_ = *numerics::cholesky(o.q - o.theta * o.theta.transpose());
    mean_ = model.positional_matrix * o.m.transpose();
    const auto size = [&](int n) { return static_cast<std::size_t>(n); };
    teacher_.resize(size(model.tokens * model.teacher_rank));
    scaled_.resize(teacher_.size());
    student_.resize(size(model.tokens * model.rank));
    for (Packs* packs : {&centre_, &z_, &force_}) packs->resize(student_.size());
    label_.resize(size(loss.label_size));
    response_.resize(size(model.rank * model.rank));
  }

  void add(std::size_t first, Sums& sums) {
    const int L = model_.tokens, r = model_.rank, teacher = model_.teacher_rank;
    for (std::size_t i = 0; i < teacher_.size(); ++i) {
      teacher_[i] = numerics::load(&nodes_.normals[i * nodes_.count + first]);
      scaled_[i] = model_.sigma[static_cast<Eigen::Index>(i) / teacher] * teacher_[i];
    }
    for (std::size_t i = 0; i < student_.size(); ++i)
      student_[i] = numerics::load(&nodes_.normals[(teacher_.size() + i) * nodes_.count + first]);
    loss_.label(scaled_.data(), label_.data());
    for (int l = 0; l < L; ++l)
      for (int i = 0; i < r; ++i) {
        Pack xi{};
        for (int j = 0; j <= i; ++j) xi += noise_(i, j) * student_[l * r + j];
        for (int j = 0; j < teacher; ++j) xi += o_.theta(i, j) * teacher_[l * teacher + j];
        centre_[l * r + i] = mean_(l, i) + model_.sigma[l] * xi;
      }

    const bool known = minima_.visits > 0;
    float* kept = &minima_.z[first * student_.size()];
    for (std::size_t i = 0; i < z_.size(); ++i)
      for (int lane = 0; lane < kLanes; ++lane)
        z_[i][lane] = known ? kept[i * kLanes + static_cast<std::size_t>(lane)] : centre_[i][lane];
    proximal_.minimize(centre_.data(), label_.data(), known ? kFurtherStarts : kFirstStarts,
                       numerics::mix(minima_.visits) + first, z_.data());
    for (std::size_t i = 0; i < z_.size(); ++i)
      for (int lane = 0; lane < kLanes; ++lane)
        kept[i * kLanes + static_cast<std::size_t>(lane)] = static_cast<float>(z_[i][lane]);

    sums.loss += proximal_.loss();
    sums.test_loss += loss_.value(centre_.data(), label_.data(), nullptr, nullptr);
    proximal_.force(force_.data());
    proximal_.classical_response(response_.data());
    for (std::size_t i = 0; i < response_.size(); ++i) sums.classical[i] += response_[i];
    for (int l = 0; l < L; ++l) {
      const double sigma = model_.sigma[l];
      for (int i = 0; i < r; ++i) {
        const Pack f = force_[l * r + i];
        for (int j = 0; j < r; ++j) {
          sums.force_outer[i * r + j] += sigma * sigma * f * force_[l * r + j];
          sums.force_noise[i * r + j] += sigma * f * student_[l * r + j];
        }
        for (int j = 0; j < teacher; ++j)
          sums.force_teacher[i * teacher + j] += sigma * f * teacher_[l * teacher + j];
        for (int a = 0; a < model_.directions(); ++a)
          sums.force_position[i * model_.directions() + a] += model_.positional_matrix(l, a) * f;
      }
    }
  }

  // By parts: E[f g'] C^{-1} is the response, of which the jumps are a part.
  Moments moments(const Sums& sums) const {
    const double count = static_cast<double>(nodes_.count);
    const auto mean = [&](Pack p) { return numerics::sum(p) / count; };
    const auto means = [&](const Packs& packs, Eigen::Index rows) {
      MatrixXd m(rows, static_cast<Eigen::Index>(packs.size()) / rows);
      for (Eigen::Index i = 0; i < m.size(); ++i)
        m(i / m.cols(), i % m.cols()) = mean(packs[static_cast<std::size_t>(i)]);
      return m;
    };
    const int r = model_.rank;
    Moments result(r, model_.teacher_rank, model_.directions());
    result.mass = 1.0;
    result.loss = mean(sums.loss);
    result.test_loss = mean(sums.test_loss);
    result.force_outer = means(sums.force_outer, r);
    const MatrixXd response = noise_.transpose().triangularView<Eigen::Upper>().solve(
        MatrixXd(means(sums.force_noise, r).transpose()));
    result.response = 0.5 * (response + response.transpose());
    result.teacher_response = means(sums.force_teacher, r) - result.response * o_.theta;
    result.positional_force = means(sums.force_position, r);
    const MatrixXd inverse = numerics::inverse(*numerics::cholesky(o_.V));
    result.classical_response = inverse.transpose() * means(sums.classical, r) * inverse;
    return result;
  }

 private:
  const Model& model_;
  const SequenceLoss& loss_;
  const Overlaps& o_;
  const Nodes& nodes_;
  Minima& minima_;
  ProximalMap proximal_;
  MatrixXd noise_, mean_;
  Packs teacher_, scaled_, student_, centre_, z_, force_, label_, response_;
};

int coordinates(const Model& model) { return model.tokens * (model.rank + model.teacher_rank); }

// The state that evaluations of one solve share.
class RandomRule {
 public:
  RandomRule(const Model& model, SequenceLoss loss, std::uint64_t seed, int threads,
             const numerics::Interrupt& interrupted)
      : model_(model), loss_(std::move(loss)), seed_(seed), threads_(threads), interrupted_(interrupted) {}

  Moments evaluate(const Overlaps& o, int level, int replicate) {
    if (level != level_) minima_.assign(kRandomReplicates, {});
    if (level != level_ || replicate != replicate_) {
      nodes_.normals = numerics::shifted_sobol_normals(coordinates(model_), 10 + 2 * level, seed_, replicate,
                                                       interrupted_);
      nodes_.count = std::size_t{1} << static_cast<unsigned>(10 + 2 * level);
    }
    level_ = level;
    replicate_ = replicate;
    Minima& minima = minima_[static_cast<std::size_t>(replicate)];
    minima.z.resize(nodes_.count * static_cast<std::size_t>(model_.tokens * model_.rank));

    const std::size_t blocks = (nodes_.count + kBlock - 1) / kBlock;
    std::vector<Sums> sums(blocks, Sums(model_));
    numerics::parallel_for(static_cast<std::ptrdiff_t>(blocks), threads_, 1, [&] {
      return [&, integrand = Integrand(model_, loss_, o, nodes_, minima)](std::ptrdiff_t block) mutable {
        const std::size_t first = static_cast<std::size_t>(block) * kBlock;
        for (std::size_t i = first; i < std::min(nodes_.count, first + kBlock); i += kLanes) {
          numerics::throw_if(interrupted_);
          integrand.add(i, sums[static_cast<std::size_t>(block)]);
        }
      };
    });
    ++minima.visits;
    Sums total(model_);
    for (const Sums& s : sums) total += s;
    return Integrand(model_, loss_, o, nodes_, minima).moments(total);
  }

 private:
  Model model_;
  SequenceLoss loss_;
  std::uint64_t seed_;
  int threads_;
  numerics::Interrupt interrupted_;
  int level_ = -1, replicate_ = -1;
  Nodes nodes_;
  std::vector<Minima> minima_;
};

// How many levels fit: nodes of one replicate, and the minima of all.
int levels_that_fit(const Model& model) {
  const double bytes = 8.0 * coordinates(model) + 4.0 * kRandomReplicates * model.tokens * model.rank;
  int levels = 2;
  while (levels < kRandomLevels && std::pow(2.0, 10 + 2 * levels) * bytes <= kLargestMemory) ++levels;
  return levels;
}

// Mean and three standard errors over replicates.
void set_baseline(const Model& model, const SequenceLoss& loss, std::uint64_t seed,
                  const numerics::Interrupt& interrupted, Quadrature& quadrature) {
  const int size = model.tokens * model.teacher_rank, log2_count = 10 + 2 * kBaselineLevel;
  const std::size_t count = std::size_t{1} << static_cast<unsigned>(log2_count);
  std::vector<double> values;
  Packs h(static_cast<std::size_t>(size)), label(static_cast<std::size_t>(loss.label_size));
  for (int replicate = 0; replicate < kRandomReplicates; ++replicate) {
    const std::vector<double> normals =
        numerics::shifted_sobol_normals(size, log2_count, seed, replicate, interrupted);
    Packs sum(label.size()), square(label.size());
    for (std::size_t first = 0; first < count; first += kLanes) {
      for (std::size_t i = 0; i < h.size(); ++i)
        h[i] = model.sigma[static_cast<Eigen::Index>(i) / model.teacher_rank] *
               numerics::load(&normals[i * count + first]);
      loss.label(h.data(), label.data());
      for (std::size_t i = 0; i < label.size(); ++i) {
        sum[i] += label[i];
        square[i] += label[i] * label[i];
      }
    }
    std::vector<double> mean, mean_square;
    for (std::size_t i = 0; i < label.size(); ++i) {
      mean.push_back(numerics::sum(sum[i]) / static_cast<double>(count));
      mean_square.push_back(numerics::sum(square[i]) / static_cast<double>(count));
    }
    values.push_back(loss.baseline(mean.data(), mean_square.data()));
  }
  const Eigen::Map<const Eigen::ArrayXd> v(values.data(), static_cast<Eigen::Index>(values.size()));
  quadrature.linear_baseline = std::max(0.0, v.mean());
  const double n = static_cast<double>(v.size());
  quadrature.linear_baseline_error = 3.0 * std::sqrt((v - v.mean()).square().sum() / (n * (n - 1.0)));
}

}  // namespace

Quadrature random_quadrature(const Model& model, const SequenceLoss& loss, std::uint64_t seed, int threads,
                             const numerics::Interrupt& interrupted) {
  if (coordinates(model) > kMostCoordinates)
    throw std::invalid_argument("tokens x (rank + teacher rank) must be at most " +
                                std::to_string(kMostCoordinates));
  auto rule = std::make_shared<RandomRule>(model, loss, seed, threads, interrupted);
  Quadrature quadrature{
      "qmc",
      levels_that_fit(model),
      kRandomReplicates,
      [rule](const Overlaps& o, int level, int replicate) { return rule->evaluate(o, level, replicate); },
      {},
      0.0,
      0.0};
  set_baseline(model, loss, seed, interrupted, quadrature);
  return quadrature;
}

}  // namespace qksolve::phase
