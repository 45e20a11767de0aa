#include "qksolve/phase/equations/state_evolution.hpp"

#include "qksolve/numerics/dense.hpp"

namespace qksolve::phase {

using Eigen::MatrixXd;

namespace {

bool positive_definite(const MatrixXd& m) { return m.allFinite() && numerics::cholesky(m).has_value(); }

}  // namespace

Moments::Moments(int rank, int teacher_rank, int directions)
    : force_outer(MatrixXd::Zero(rank, rank)),
      response(MatrixXd::Zero(rank, rank)),
      classical_response(MatrixXd::Zero(rank, rank)),
      teacher_response(MatrixXd::Zero(rank, teacher_rank)),
      positional_force(MatrixXd::Zero(rank, directions)),
      mass(0) {}

Moments& Moments::operator+=(const Moments& other) {
  loss += other.loss;
  force_outer += other.force_outer;
  response += other.response;
  classical_response += other.classical_response;
  teacher_response += other.teacher_response;
  positional_force += other.positional_force;
  test_loss += other.test_loss;
  jump_mass += other.jump_mass;
  mass += other.mass;
  return *this;
}

Moments& Moments::operator*=(double factor) {
  loss *= factor;
  force_outer *= factor;
  response *= factor;
  classical_response *= factor;
  teacher_response *= factor;
  positional_force *= factor;
  test_loss *= factor;
  jump_mass *= factor;
  mass *= factor;
  return *this;
}

bool admissible(const Overlaps& o) {
  return o.theta.allFinite() && o.m.allFinite() && positive_definite(o.V) &&
         positive_definite(o.q - o.theta * o.theta.transpose());
}

std::optional<Overlaps> update(const Model& model, double alpha, const Overlaps& o, const Moments& moments,
                               Response response) {
  const auto r = o.q.rows();
  const MatrixXd& derivative = response == Response::total ? moments.response : moments.classical_response;
  const MatrixXd precision = model.lambda * MatrixXd::Identity(r, r) - alpha * derivative;
  if (!positive_definite(precision)) return std::nullopt;
  const MatrixXd qhat = alpha * moments.force_outer;
  const MatrixXd thetahat = alpha * moments.teacher_response;
  const MatrixXd mhat = alpha * moments.positional_force;
  Overlaps next;
  next.V = numerics::inverse(precision);
  next.theta = next.V * thetahat;
  next.m = next.V * mhat;
  next.q = next.V * qhat * next.V + next.theta * next.theta.transpose() + next.m * next.m.transpose();
  return next;
}

double training_loss(const Model& model, double alpha, const Overlaps& o, const Moments& moments) {
  return alpha * moments.loss + 0.5 * model.lambda * o.q.trace();
}

double expected_envelope(const Overlaps& o, const Moments& moments) {
  return moments.loss + 0.5 * (o.V * moments.force_outer).trace();
}

double free_energy(const Model& model, double alpha, const Overlaps& o, const Moments& moments) {
  const MatrixXd spread = o.q - o.theta * o.theta.transpose() - o.m * o.m.transpose();
  return alpha * expected_envelope(o, moments) + 0.5 * model.lambda * o.q.trace() -
         0.5 * numerics::inverse(o.V).cwiseProduct(spread.transpose()).sum();
}

}  // namespace qksolve::phase
