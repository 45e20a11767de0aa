#include "qksolve/phase/finite_size/experiment.hpp"

#include <algorithm>
#include <cmath>

namespace qksolve::phase {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double kTestTolerance = 1e-6, kRandomEntry = 0.1;

template <class Store>
MatrixXd start_point(const FiniteSize<Store>& instance, Init init) {
  const std::int64_t d = instance.draw().dimension;
  MatrixXd Q(d, instance.model().rank);
  for (int k = 0; k < Q.cols(); ++k)
    numerics::fill_normals(random_stream(instance.draw(), RandomPurpose::start),
                           static_cast<std::uint64_t>(k), Q.col(k).data(), static_cast<std::size_t>(d));
  Q *= kRandomEntry;
  if (init == Init::random) return Q;
  MatrixXd informed(d, 0);
  const auto append = [&informed](const MatrixXd& columns) {
    informed.conservativeResize(Eigen::NoChange, informed.cols() + columns.cols());
    informed.rightCols(columns.cols()) = columns;
  };
  if (init != Init::semantic) append(instance.directions());
  if (init != Init::positional) append(instance.teacher());
  const auto columns = std::min(Q.cols(), informed.cols());
  Q.leftCols(columns) = informed.leftCols(columns);
  return Q;
}

double sign_of_run(const Overlaps& overlaps, Init init, double variance) {
  const double theta = variance * overlaps.theta(0, 0), m = overlaps.m(0, 0);
  const bool by_theta = init == Init::semantic || (init == Init::random && std::abs(theta) > std::abs(m));
  return (by_theta ? theta : m) < 0 ? -1.0 : 1.0;
}

bool kept_in_trajectory(int iteration, int last) { return iteration <= 20 || iteration >= 1.05 * last; }

template <class Store>
Run run_from(const FiniteSize<Store>& instance, Init init, const MatrixXd& linear,
             const ExperimentOptions& options, const numerics::Interrupt& interrupted) {
  const Model& model = instance.model();
  const double d = static_cast<double>(instance.draw().dimension), root_d = std::sqrt(d);
  const MatrixXd start = start_point(instance, init);
  Run run;
  run.init = init;
  auto overlaps_of = [&](const MatrixXd& Q) {
    return measure_overlaps(Q, instance.teacher(), instance.directions());
  };
  auto wanted = [&](int iteration) {
    return options.trajectory &&
           (run.trajectory.empty() || kept_in_trajectory(iteration, run.trajectory.back().iteration));
  };

  numerics::Minimum minimum;
  MatrixXd variance;
  if (options.optimizer == Optimizer::message_passing) {
    const MessagePassingOptions message = message_passing_options(options, instance.draw().dimension);
    const MessagePassingResult result = message_passing(instance, start, message, [&](const auto& step) {
      if (wanted(step.iteration)) {
        Overlaps overlaps = overlaps_of(step.Q);
        overlaps.V = MatrixXd::Constant(1, 1, step.variance);
        run.trajectory.push_back({step.iteration, overlaps, {}, {}});
      }
      return true;
    });
    minimum = result.minimum;
    variance = MatrixXd::Constant(1, 1, result.variance);
    run.switching = result.switching;
  } else {
    auto as_matrix = [&](const VectorXd& x) {
      return Eigen::Map<const MatrixXd>(x.data(), start.rows(), start.cols());
    };
    const numerics::Objective objective = [&, gradient = MatrixXd()](const VectorXd& x,
                                                                     VectorXd& out) mutable {
      const double value = instance.risk(as_matrix(x), &gradient);
      out = gradient.reshaped();
      return value;
    };
    const numerics::Observer observe = [&](const numerics::MinimizerStep& step) {
      if (wanted(step.iteration))
        run.trajectory.push_back(
            {step.iteration, overlaps_of(as_matrix(step.x)), step.value / d, step.gradient_norm / root_d});
      return true;
    };
    const numerics::MinimizerOptions minimizer{options.gradient_tolerance * root_d, options.steps,
                                               options.learning_rate};
    const VectorXd x = start.reshaped();
    minimum = options.optimizer == Optimizer::lbfgs ? numerics::lbfgs(objective, x, minimizer, observe)
              : options.optimizer == Optimizer::adam
                  ? numerics::adam(objective, x, minimizer, observe)
                  : numerics::gradient_descent(objective, x, minimizer, observe);
  }

  const MatrixXd Q = minimum.x.reshaped(start.rows(), start.cols());
  run.status = minimum.status;
  run.iterations = minimum.iterations;
  run.train_loss = minimum.value / d;
  run.gradient_norm = minimum.gradient_norm / root_d;
  run.positional_part = positional_part(instance, Q) / d;
  run.overlaps = overlaps_of(Q);
  run.overlaps.V = variance;
  const double teacher_norm = instance.teacher().squaredNorm() / d;
  if (options.minimum_response) run.minimum_response = measure_response(instance, Q);
  run.test = measure_test_errors(model, instance.draw(), Q, instance.teacher(), instance.directions(), linear,
                                 options.test_samples, interrupted);
  double error = 0;
  run.conditional_test_error =
      conditional_test_error(model, run.overlaps, teacher_norm, kTestTolerance, error);
  run.branch_found = branch_of(run.overlaps, teacher_norm, instance.draw().dimension);
  if (model.rank == 1 && model.teacher_rank == 1 && model.directions() == 1) {
    const double sign = sign_of_run(run.overlaps, init, model.sigma[0] * model.sigma[0]);
    run.overlaps.theta *= sign;
    run.overlaps.m *= sign;
    for (TrajectoryPoint& point : run.trajectory) {
      point.overlaps.theta *= sign;
      point.overlaps.m *= sign;
    }
  }
  return run;
}

template <class Store>
InstanceResult run_stored(const Model& model, const Draw& draw, const std::vector<Init>& inits,
                          const ExperimentOptions& options, const numerics::Interrupt& interrupted) {
  const FiniteSize<Store> instance(model, draw, interrupted);
  const MatrixXd linear = fit_linear_baseline(instance);
  InstanceResult result{control_variates(instance), {}};
  for (const Init init : inits) result.runs.push_back(run_from(instance, init, linear, options, interrupted));
  return result;
}

}  // namespace

std::string init_name(Init init) {
  switch (init) {
    case Init::semantic:
      return "semantic";
    case Init::positional:
      return "positional";
    case Init::mixed:
      return "mixed";
    case Init::random:
      break;
  }
  return "random";
}

std::optional<Init> branch_of(const Overlaps& overlaps, double teacher_norm, std::int64_t dimension) {
  const double length = std::sqrt(overlaps.q.trace());
  const double columns = static_cast<double>(overlaps.theta.cols());
  const double along_teacher = overlaps.theta.norm() / std::sqrt(teacher_norm / columns);
  const double along_direction = overlaps.m.norm();
  const double entries = static_cast<double>(std::max(overlaps.theta.size(), overlaps.m.size()));
  const double chance = 4.0 * std::sqrt(entries / static_cast<double>(dimension)) * length;
  if (overlaps.q.rows() > 1) {
    const bool teacher = along_teacher > chance, direction = along_direction > chance;
    if (teacher && direction) return Init::mixed;
    if (!teacher && !direction) return std::nullopt;
    return teacher ? Init::semantic : Init::positional;
  }
  if (!(std::abs(along_teacher - along_direction) > chance)) return std::nullopt;
  return along_teacher > along_direction ? Init::semantic : Init::positional;
}

Overlaps start_overlaps(Init init, std::int64_t dimension) {
  auto matrix = [](double value) { return MatrixXd::Constant(1, 1, value); };
  const double one = 1.0 / static_cast<double>(dimension);
  const MatrixXd V = matrix(MessagePassingOptions{}.variance);
  return init == Init::semantic     ? Overlaps{matrix(1), matrix(1), matrix(0), V}
         : init == Init::positional ? Overlaps{matrix(one), matrix(0), matrix(std::sqrt(one)), V}
                                    : Overlaps{matrix(kRandomEntry * kRandomEntry), matrix(0), matrix(0), V};
}

MessagePassingOptions message_passing_options(const ExperimentOptions& options, std::int64_t dimension) {
  MessagePassingOptions message;
  message.tolerance = options.gradient_tolerance * std::sqrt(static_cast<double>(dimension));
  message.iterations = options.steps;
  message.damping = options.damping;
  message.response = options.response;
  return message;
}

InstanceResult run_instance(const Model& model, const Draw& draw, const std::vector<Init>& inits,
                            const ExperimentOptions& options, const numerics::Interrupt& interrupted) {
  return options.single_precision ? run_stored<float>(model, draw, inits, options, interrupted)
                                  : run_stored<double>(model, draw, inits, options, interrupted);
}

}  // namespace qksolve::phase
