// The learner of a `phase` command: empirical risk minimisation, or the Bayes-optimal limit beside it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "phase_arguments.hpp"

namespace qksolve::app {

struct Learner {
  std::string name = "erm";

  bool bayes() const { return name == "bayes"; }
  // Not a parameter of a result of erm.
  void declare(Options& options);
  // For bayes, after PhaseArguments::finish_model. Throws UsageError where the model has no such limit, or where
  // one of `unused`, options of erm, was given.
  void finish(const PhaseArguments& arguments, const Options& options,
              const std::vector<std::string>& unused) const;
};

// An empty result as `new_result` makes it; for bayes without the parameters that are options of erm.
results::Result new_result(const Learner& learner, const std::vector<std::string>& unused,
                           const Options& options, const RunArguments& run, const Context& context);

// Adds the records of the Bayes-optimal limit on the product of `omega` and `alpha`, or what is missing of them.
void solve_bayes(const PhaseArguments& arguments, const std::vector<double>& alpha, results::Result& result);
// Their table, on context.err.
void print_bayes_table(Context& context, const std::vector<results::Json>& records);

}  // namespace qksolve::app
