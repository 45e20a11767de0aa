// What is measured on a student of the finite-size experiment.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>

#include "qksolve/phase/finite_size/draws.hpp"

namespace qksolve::phase {

// Overlaps of Q with itself, the teacher and the positional directions, in the units of the theory; V is left
// empty.
Overlaps measure_overlaps(const Eigen::MatrixXd& Q, const Eigen::MatrixXd& teacher,
                          const Eigen::MatrixXd& directions);

// The L x L matrix W that minimises sum |y - W x|^2 over the instance's samples.
template <class Store>
Eigen::MatrixXd fit_linear_baseline(const FiniteSize<Store>& instance);

// Test errors E |y - f(x)|^2 / (2 d) at dimension d.
struct TestErrors {
  double student = 0, student_error = 0;        // mean over the fresh samples, its standard error
  double limit_form = 0, limit_form_error = 0;  // mean of 1/2 tr (S - T) D (S - T)' over the same samples
  double linear = 0;                            // of the linear map W
};

// `count` >= 2 fresh samples, drawn through the projections on span(Q, Q*, e_a): the attention matrices
// depend on nothing else, and the rest of a sample enters through its squared length alone, which is averaged
// exactly. The student's error is that of the full model, S p included; it tends to the limit's form as d
// grows. Throws numerics::Interrupted.
TestErrors measure_test_errors(const Model& model, const Draw& draw, const Eigen::MatrixXd& Q,
                               const Eigen::MatrixXd& teacher, const Eigen::MatrixXd& directions,
                               const Eigen::MatrixXd& linear, std::int64_t count,
                               const numerics::Interrupt& interrupted = {});

// The same expectation in the limit's form, by quadrature from the measured overlaps: Gaussian given Q and
// Q*, exact. `error` receives the error of the quadrature. Needs is_two_token(model), else nothing; also
// nothing where q - theta^2/rho is not positive (Q along Q*). `teacher_norm` is rho = |Q*|^2/d.
std::optional<double> conditional_test_error(const Model& model, const Overlaps& overlaps,
                                             double teacher_norm, double tolerance, double& error);

// sum_samples |S p|^2/(2 d) at Q, the part of E that the positional encodings add by themselves: E/d of the
// limit does not have it.
template <class Store>
double positional_part(const FiniteSize<Store>& instance, const Eigen::MatrixXd& Q);

// Control variates of an instance: functions of the data and the teacher alone whose mean over draws is zero,
// exactly at any d, and that move with the training loss. With g = |x_1 - x_2|^2/(2 d), a, b = T_11 - 1/2,
// T_22 - 1/2 and u_l = x_l.e they are the sums over samples, divided by d, of g (a + b) and g (a^2 + b^2),
// less their means given |Q*|, and of (u_1 - u_2)(a + b), odd in x; and |Q*|^2/d - 1, which explains most.
// Empty unless is_two_token(model).
template <class Store>
Eigen::VectorXd control_variates(const FiniteSize<Store>& instance);

extern template Eigen::MatrixXd fit_linear_baseline(const FiniteSize<double>&);
extern template Eigen::MatrixXd fit_linear_baseline(const FiniteSize<float>&);
extern template double positional_part(const FiniteSize<double>&, const Eigen::MatrixXd&);
extern template double positional_part(const FiniteSize<float>&, const Eigen::MatrixXd&);
extern template Eigen::VectorXd control_variates(const FiniteSize<double>&);
extern template Eigen::VectorXd control_variates(const FiniteSize<float>&);

}  // namespace qksolve::phase
