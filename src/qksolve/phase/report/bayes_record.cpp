#include "qksolve/phase/report/bayes_record.hpp"

#include <algorithm>
#include <cmath>

#include "qksolve/phase/equations/bayes_optimal/weak_threshold.hpp"
#include "qksolve/phase/report/phase_record.hpp"

namespace qksolve::results {

namespace {

struct Threshold {
  std::string name;
  double phase::bayes::Thresholds::*value;
  double relative_error;  // beyond rounding all but one are exact
};
const std::vector<Threshold> kThresholds{
    {"alpha_weak", &phase::bayes::Thresholds::weak, 0},
    {"alpha_it", &phase::bayes::Thresholds::it, 0},
    {"alpha_algorithmic", &phase::bayes::Thresholds::algorithmic, 1e-12},
    {"alpha_linear_algebra", &phase::bayes::Thresholds::linear_algebra, 0},
    {"alpha_baseline", &phase::bayes::Thresholds::weak, 0}};

Json threshold_row(const std::string& which, double omega) {
  Json record;
  record["omega"] = omega;
  record["which"] = which;
  return record;
}

}  // namespace

Json bayes_record(const BayesPoint& point, double omega, double tolerance) {
  const phase::bayes::Solution& s = point.solution;
  const double scale = (1 - omega) * (1 - omega);
  Json record;
  record["alpha"] = point.alpha;
  record["omega"] = omega;
  record["learner"] = "bayes";
  record["status"] = "converged";
  std::string unknown;
  const auto add = [&](const std::string& key, double value, double error) {
    put(record, key, value);
    put(record, key + "_error", error);
    if (error > tolerance * value && unknown.empty())
      unknown = key + " is known to " + Json(error).dump() + " only";
  };
  add("q", s.state.q, s.q_error);
  add("mse", s.state.mse, s.mse_error);
  if (s.free_entropy) add("free_entropy", *s.free_entropy, s.free_entropy_error);
  add("gen_error", scale * point.prediction.error, scale * point.prediction.uncertainty);
  add("gen_error_linear", scale * point.baseline.error, scale * point.baseline.uncertainty);
  if (!unknown.empty()) {
    record["status"] = "failed";
    record["reason"] = unknown;
  }
  return record;
}

const std::vector<std::string>& bayes_threshold_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(std::size(kThresholds) + 1);
    for (const Threshold& t : kThresholds) all.push_back(t.name);
    all.push_back(kAlphaErm);
    return all;
  }();
  return names;
}

Json bayes_threshold(const std::string& which, double omega, int tokens) {
  const phase::bayes::Thresholds found = phase::bayes::thresholds(tokens);
  Json record = threshold_row(which, omega);
  record["status"] = "converged";
  for (const Threshold& t : kThresholds)
    if (t.name == which) {
      put(record, "value", found.*t.value);
      put(record, "value_error", t.relative_error * found.*t.value);
    }
  return record;
}

double attention_noise(const phase::Model& model, double delta) {
  return std::sqrt(delta / model.sigma.squaredNorm()) / (1 - model.omega);
}

Json bayes_weak_threshold(const phase::Model& model, double delta, double tolerance) {
  Json record = threshold_row("alpha_weak", model.omega);
  const auto found =
      delta == 0
          ? phase::bayes::WeakThreshold{phase::bayes::weak_threshold_of_rank(model.teacher_rank), 0, 0, true}
          : phase::bayes::noisy_weak_threshold(model.sigma(0), model.sigma(1), attention_noise(model, delta),
                                               tolerance);
  record["status"] = found.converged ? "converged" : "failed";
  if (found.converged) {
    put(record, "value", found.alpha);
    put(record, "value_error", found.error);
  } else {
    record["reason"] = "the largest rule does not reach the tolerance";
  }
  return record;
}

Json bayes_erm_threshold(std::vector<Json> branches, double omega, const phase::bayes::Predictor& predictor) {
  Json record = threshold_row(kAlphaErm, omega);
  const auto failed = [&](const char* status, const char* reason) {
    record["status"] = status;
    record["reason"] = reason;
    return record;
  };
  mark_global_minimum(branches);
  const auto lowest = std::find_if(branches.begin(), branches.end(),
                                   [](const Json& r) { return r.value("global_minimum", false); });
  if (lowest == branches.end())
    return failed("failed", "it cannot be told which branch is the minimum of the empirical risk");
  const double scale = (1 - omega) * (1 - omega);
  const double error = lowest->at("gen_error").get<double>() / scale;
  const double uncertainty = lowest->at("gen_error_error").get<double>() / scale;
  const double alpha = predictor.alpha_at(error);
  if (alpha == 0) return failed("no_bracket", "the minimum does not predict better than the linear baseline");
  record["status"] = "converged";
  put(record, "value", alpha);
  put(record, "value_error",
      std::max(predictor.alpha_at(error - uncertainty) - alpha,
               alpha - predictor.alpha_at(error + uncertainty)));
  record["branch"] = lowest->at("branch");
  return record;
}

BesideBayes::BesideBayes(const Json& parameters)
    : tokens_(parameters.value("tokens", 2)), known_(parameters.value("teacher_rank", 1) == 1) {
  if (!known_) return;
  Eigen::VectorXd sigma(tokens_);
  const Json& given = parameters.at("sigma");
  for (int l = 0; l < tokens_; ++l)
    sigma(l) = given.is_array() ? given.at(static_cast<std::size_t>(l)).get<double>() : given.get<double>();
  // The limit costs little: it need not add to the error of what it is compared with.
  const double tolerance = parameters.at("tolerance").get<double>();
  predictor_.emplace(sigma, tokens_ == 2 ? 1e-3 * tolerance : tolerance,
                     parameters.at("seed").get<std::uint64_t>());
  const phase::bayes::Prediction baseline = (*predictor_)({0, 1});
  for (const double alpha : parameters.at("alpha").get<std::vector<double>>()) {
    const phase::bayes::State state = phase::bayes::solve(tokens_, alpha).state;
    at_alpha_[alpha] = state.q == 0 ? baseline : (*predictor_)(state);
  }
}

void BesideBayes::add_to(Json& record) const {
  const double omega = record.at("omega");
  if (!known_ || omega == 1 || record.at("status") != "converged") return;
  const double scale = (1 - omega) * (1 - omega), alpha = record.at("alpha");
  const phase::bayes::Prediction& best = at_alpha_.at(alpha);
  put(record, "gen_error_bayes", scale * best.error);
  put(record, "gen_error_bayes_error", scale * best.uncertainty);
  if (tokens_ != 2) return;
  const double error = record.at("gen_error"), uncertainty = record.at("gen_error_error");
  const double low = predictor_->alpha_at((error + uncertainty) / scale);
  const double middle = predictor_->alpha_at(error / scale);
  const double high = predictor_->alpha_at(std::max(error - uncertainty, 0.0) / scale);
  put(record, "efficiency", middle / alpha);
  put(record, "efficiency_error", std::max(middle - low, high - middle) / alpha);
}

std::vector<Json> BesideBayes::lines(double omega) const {
  if (!known_ || omega == 1) return {};
  return {bayes_threshold("alpha_weak", omega, tokens_), bayes_threshold("alpha_it", omega, tokens_)};
}

}  // namespace qksolve::results
