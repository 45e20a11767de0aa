// The attention model at finite dimension: draws of its data, its exact empirical risk and the gradient.
//
// Sample x (L x d) has rows N(0, sigma_l^2 I). With p_l = sum_a B_la e_a the positional encodings,
//   student  f(x) = S (x + p),   S = softmax_rows(h h'),  h_l = (x_l + p_l) Q / sqrt(d)  (L x r),
//   teacher  y(x) = T x,         T = (1 - omega) softmax_rows(h* h*') + omega A,  h*_l = x_l Q* / sqrt(d),
//   risk     E(Q) = sum_samples |y - f|^2 / (2d) + lambda/2 |Q|^2                 (arXiv 2402.03902).
// Expanded in the attention matrices, |y - f|^2 = tr M G M' + 2 tr M C S' + tr S P S' with M = S - T and the
// inner products G = x x', C = x p', P = p p' of the sample, which never change. A step of a minimiser
// therefore needs of the data only the products x Q and the sum of x_l times a coefficient: one pass over
// memory.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/numerics/random_normals.hpp"
#include "qksolve/phase/model.hpp"

namespace qksolve::phase {

// Which draw of the model. Rows of data are those of a shorter experiment first, so that experiments at
// several alpha share their samples; different dimensions are independent.
struct Draw {
  std::uint64_t seed = 0;
  std::int64_t instance = 0;
  std::int64_t dimension = 1000;  // d >= 1
  std::int64_t samples = 2000;    // n >= 1
};

enum class RandomPurpose : std::uint64_t { data, teacher, start, test, probe };
numerics::RandomStream random_stream(const Draw& draw, RandomPurpose purpose);

// round(alpha d).
std::int64_t sample_count(double alpha, std::int64_t dimension);

// Bytes that FiniteSize<Store> allocates, as a real number because it may exceed any integer.
double required_memory(const Model& model, double dimension, double samples, std::size_t store_size);

// Attention matrices, L x L, from preactivations h (L x rank).
Eigen::MatrixXd softmax_attention(const Eigen::MatrixXd& h);
Eigen::MatrixXd teacher_attention(const Model& model, const Eigen::MatrixXd& h);

// |T x - S (x + p)|^2 from the inner products G = x x', C = x p', P = p p' (L x L each).
double attention_distance(const Eigen::MatrixXd& S, const Eigen::MatrixXd& T, const Eigen::MatrixXd& G,
                          const Eigen::MatrixXd& C, const Eigen::MatrixXd& P);

// Orthonormal delocalised directions e_a, d x directions: the first is (1, ..., 1)/sqrt(d), the others
// cosines.
Eigen::MatrixXd positional_directions(std::int64_t dimension, int directions);

// One instance. Store is the type the data are kept in, double or float; all arithmetic is in double, and the
// inner products are those of the stored numbers, so that a float instance is an exact instance of slightly
// other data.
template <class Store>
class FiniteSize {
 public:
  // Throws std::invalid_argument for an invalid model or size, std::bad_alloc without memory. Where
  // `interrupted` turns true this and every pass over the data throw numerics::Interrupted.
  FiniteSize(const Model& model, const Draw& draw, const numerics::Interrupt& interrupted = {});

  // E(Q) for Q of d x r; `gradient`, if not null, receives dE/dQ, d x r.
  double risk(const Eigen::MatrixXd& Q, Eigen::MatrixXd* gradient) const;

  // For each block of up to 8 samples: `respond(first, count, h)` gets h(l + L k, i) = x_l Q_k / sqrt(d) of
  // sample first + i and overwrites it by coefficients c. Returns sum_samples sum_l x_l c_l' / sqrt(d), of
  // the size of Q, which may have any number of columns k.
  using Respond = std::function<void(std::int64_t first, int count, Eigen::MatrixXd& h)>;
  Eigen::MatrixXd sweep(const Eigen::MatrixXd& Q, const Respond& respond) const;

  // For the loops of others over the samples.
  void throw_if_interrupted() const { numerics::throw_if(interrupted_); }

  const Model& model() const { return model_; }
  const Draw& draw() const { return draw_; }
  const Eigen::MatrixXd& teacher() const { return teacher_; }        // Q*, d x r*
  const Eigen::MatrixXd& directions() const { return directions_; }  // e_a, d x directions

  Eigen::VectorXd token(std::int64_t sample, int l) const {  // x_l of a sample, d
    return Eigen::Map<const Eigen::VectorX<Store>>(row(sample, l), draw_.dimension).template cast<double>();
  }
  const Store* stored() const { return data_.get(); }  // samples x L rows, padded to whole packs

  // Of one sample: G, C, T (L x L each) and the teacher's preactivations h* (L x r*).
  using View = Eigen::Map<const Eigen::MatrixXd>;
  View gram(std::int64_t sample) const { return view(sample, 0, model_.tokens); }
  View cross(std::int64_t sample) const { return view(sample, 1, model_.tokens); }
  View attention(std::int64_t sample) const { return view(sample, 2, model_.tokens); }
  View teacher_preactivation(std::int64_t sample) const { return view(sample, 3, model_.teacher_rank); }

 private:
  View view(std::int64_t sample, int which, int columns) const {
    return {statistics_.data() + sample * per_sample_ + which * model_.tokens * model_.tokens, model_.tokens,
            columns};
  }
  const Store* row(std::int64_t sample, int token) const {
    return data_.get() + (sample * model_.tokens + token) * stride_;
  }
  double two_token_pass(const double* q, double* gradient, Eigen::VectorXd& token_sums) const;
  double general_pass(const Eigen::MatrixXd& q, Eigen::MatrixXd& gradient, Eigen::MatrixXd& token_sums) const;

  Model model_;
  Draw draw_;
  numerics::Interrupt interrupted_;
  std::int64_t stride_, per_sample_;
  Eigen::MatrixXd teacher_, directions_;
  std::unique_ptr<Store[], void (*)(void*)> data_;  // samples x L x stride, rows padded by zeros
  Eigen::VectorXd statistics_;                      // per sample: G, C, T, h*
};

extern template class FiniteSize<double>;
extern template class FiniteSize<float>;

}  // namespace qksolve::phase
