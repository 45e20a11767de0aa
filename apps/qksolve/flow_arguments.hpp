// The options that all `flow` commands share, and what they build from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "qksolve/flow/theory/model.hpp"

namespace qksolve::app {

// --parameterization: a list of CACO, FACO, CAFO, FAFO, or all.
void declare_parameterizations(Options& options, std::vector<flow::Parameterization>& target,
                               const std::string& default_text);

struct FlowArguments {
  std::vector<flow::Parameterization> parameterizations{flow::Parameterization{}};
  std::vector<double> ratio{1.0};  // eta_qk/eta_ov
  double eta_ov = 1.0;
  std::optional<double> eta_qk;
  std::int64_t classes = 20, pool = 50, common = 50, distinct_per_sequence = 5, common_per_sequence = 50;
  std::string query = "paper";
  double u0 = 0.05, beta0 = 0.05, imbalance_qk = 0.0, imbalance_ov = 0.0;
  RunArguments run;

  void declare_model(Options& options);
  // After Options::resolve: what depends on several options. Throws UsageError.
  void finish(const Options& options);

  flow::Model model(const flow::Parameterization& parameterization, double rate_ratio) const;
};

}  // namespace qksolve::app
