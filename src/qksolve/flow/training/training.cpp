#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>

#include "qksolve/flow/training/full_matrix.hpp"
#include "qksolve/numerics/adam.hpp"
#include "qksolve/numerics/one_thread.hpp"

namespace qksolve::flow {
namespace {

using Eigen::MatrixXd;

// Calls f(weight matrix, its learning rate, matrices of others at the same place...).
template <class Function, class... Others>
void for_each_matrix(const Model& model, Weights& weights, Function f, Others&... others) {
  for (std::size_t i = 0; i < weights.qk.size(); ++i) f(weights.qk[i], model.eta_qk, others.qk[i]...);
  for (std::size_t i = 0; i < weights.ov.size(); ++i) f(weights.ov[i], model.eta_ov, others.ov[i]...);
}

void descend(const Model& model, Weights& weights, Weights& gradient, double step_size) {
  for_each_matrix(
      model, weights, [&](MatrixXd& w, double eta, MatrixXd& g) { w.noalias() -= (step_size * eta) * g; },
      gradient);
}

// Classical Runge-Kutta step of w' = -eta gradient.
void runge_kutta(const Model& model, FullModel& full, double h) {
  const Weights start = full.weights();
  Weights sum = full.gradient(full.examples());
  Weights slope = sum;
  for (const double at : {0.5, 0.5, 1.0}) {
    full.weights() = start;
    descend(model, full.weights(), slope, at * h);
    slope = full.gradient(full.examples());
    const double weight = at == 0.5 ? 2.0 : 1.0;
    for_each_matrix(
        model, sum, [&](MatrixXd& s, double, MatrixXd& k) { s += weight * k; }, slope);
  }
  full.weights() = start;
  descend(model, full.weights(), sum, h / 6);
}

constexpr double kDecay = 0.01;  // of adamw

struct Moments {
  std::vector<numerics::AdamW> qk, ov;
};

void adam(const Model& model, Weights& weights, Weights& gradient, Moments& moments, double step_size,
          const numerics::Interrupt& interrupted) {
  moments.qk.resize(weights.qk.size());
  moments.ov.resize(weights.ov.size());
  for_each_matrix(
      model, weights,
      [&](MatrixXd& w, double eta, MatrixXd& g, numerics::AdamW& m) {
        m.step(w, g, step_size * eta, kDecay, interrupted);
      },
      gradient, moments);
}

bool finite(const Measurement& m) {
  return std::isfinite(m.u) && std::isfinite(m.beta) && std::isfinite(m.attention) &&
         std::isfinite(m.margin) && std::isfinite(m.loss) && std::isfinite(m.off_line_ov) &&
         std::isfinite(m.off_line_qk);
}

// The errors of the measurements of a run, which come in the order of their steps.
class Errors {
 public:
  explicit Errors(const FullModel& full) : full_(full) {
    const Training& training = full.training();
    if (!follows_line(training)) return;
    coarse_.emplace(full.model(), training.optimizer, training.step_size);
    fine_.emplace(full.model(), training.optimizer, training.step_size / 8);
  }

  void add_to(Measurement& m) {
    const double rounding = 8 * std::numeric_limits<double>::epsilon() * (static_cast<double>(m.step) + 1);
    m.u_error = rounding * std::abs(m.u);
    m.beta_error = rounding * std::abs(m.beta);
    m.attention_error = rounding * std::abs(m.attention);
    m.margin_error = rounding * std::abs(m.margin);
    m.loss_error = rounding * std::abs(m.loss);
    if (!coarse_) return;
    // The fine run's own error is an eighth (gd) or 1/4096 (rk4) of it, more where the error changes its
    // sign.
    constexpr double safety = 2;
    const Model& model = full_.model();
    const State x = coarse_->after(m.step, full_.interrupted()),
                y = fine_->after(8 * m.step, full_.interrupted());
    m.u_error += safety * std::abs(x.u - y.u);
    m.beta_error += safety * std::abs(x.beta - y.beta);
    m.attention_error += safety * std::abs(model.attention(x.beta) - model.attention(y.beta));
    m.margin_error += safety * std::abs(model.margin(x) - model.margin(y));
    m.loss_error += safety * std::abs(model.loss(model.margin(x)) - model.loss(model.margin(y)));
  }

 private:
  const FullModel& full_;
  std::optional<LineRun> coarse_, fine_;
};

}  // namespace

TrainingRun train(FullModel& full, const std::vector<std::int64_t>& record_steps,
                  const std::function<void(const Measurement&)>& measured) {
  const Model& model = full.model();
  const Training& training = full.training();
  if (!std::is_sorted(record_steps.begin(), record_steps.end()) ||
      (!record_steps.empty() && (record_steps.front() < 0 || record_steps.back() > training.steps)))
    throw std::invalid_argument("record steps must be ascending and in [0, steps]");
  if (training.optimizer == Optimizer::sgd && training.batch == 0)
    throw std::invalid_argument("sgd needs a batch of at least 1");
  if (training.batch > 0 && (training.optimizer == Optimizer::gd || training.optimizer == Optimizer::rk4))
    throw std::invalid_argument("gd and rk4 use the population gradient, not a batch");
  const numerics::OneThread one_thread;
  std::mt19937_64 random(training.seed +
                         0x9e3779b97f4a7c15ULL);  // apart from the stream of the initial values
  Moments moments;
  Errors errors(full);
  TrainingRun run;
  auto end = [&](Status status = Status::converged, const std::string& reason = "") {
    run.status = status;
    run.reason = reason;
    return run;
  };
  std::size_t next = 0;
  for (std::int64_t step = 0;; ++step) {
    if (next < record_steps.size() && record_steps[next] == step) {
      Measurement m = full.measure();
      if (!finite(m))
        return end(Status::non_finite, "a value is not finite after step " + std::to_string(step));
      m.step = step;
      m.t = static_cast<double>(step) * training.step_size;
      errors.add_to(m);
      run.measurements.push_back(m);
      if (measured) measured(m);
      while (next < record_steps.size() && record_steps[next] == step) ++next;
    }
    if (step == training.steps) return end();
    numerics::throw_if(full.interrupted());
    if (training.optimizer == Optimizer::rk4) {
      runge_kutta(model, full, training.step_size);
      continue;
    }
    std::vector<Example> batch;
    if (training.batch > 0) batch = draw_sequences(model.task, training.batch, random(), full.interrupted());
    const std::vector<Example>& examples = training.batch > 0 ? batch : full.examples();
    if (training.optimizer == Optimizer::adamw) {
      Weights gradient = full.gradient(examples);
      adam(model, full.weights(), gradient, moments, training.step_size, full.interrupted());
    } else {
      full.descend(examples, training.step_size);
    }
  }
}

}  // namespace qksolve::flow
