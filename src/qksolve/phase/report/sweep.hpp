// Phase diagrams: the tasks of a sweep over alpha and omega, and the result that is made of what they found.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qksolve/results/result.hpp"

namespace qksolve::results {

inline const std::string kSweepSchema = "qksolve.phase.sweep/1";

// The plan of a sweep, given by the `parameters` of its result. Task number i is one branch on one line of
// constant omega: omega number i / branches, branch number i % branches.
class Sweep {
 public:
  // `parameters`: as in the result, with the lists `alpha`, `omega` and the `branch`, a word or a list.
  // Throws nlohmann::json::exception where something is missing.
  explicit Sweep(Json parameters);

  const Json& parameters() const { return parameters_; }
  Json header() const;  // of its work files
  std::size_t size() const { return omegas_.size() * branches_.size(); }
  double omega(std::size_t task) const { return omegas_[task / branches_.size()]; }
  const std::string& branch(std::size_t task) const { return branches_[task % branches_.size()]; }
  const std::vector<double>& alphas() const { return alphas_; }
  // Identity: depends on everything that defines the task and on nothing else.
  const std::string& id(std::size_t task) const { return ids_[task]; }
  const std::vector<std::string>& ids() const { return ids_; }
  std::string name(std::size_t task) const;  // for people

  // The records of a task as they were kept in `file`. Throws ContentError if they are not those of a task:
  // one for each alpha, with what `assemble` reads.
  std::vector<Json> records(std::size_t task, const Json& kept, const std::string& file) const;

  // The records of a finished task, one for each alpha; nothing if it has not finished.
  using Fetch = std::function<std::optional<std::vector<Json>>(std::size_t task)>;

  // Emits the records of all finished tasks by omega, alpha and branch, with `global_minimum`, `region` and
  // `beats_linear` where they can be told, and returns the summary:
  //   lines: for each omega and each of alpha_c and alpha_l (see phase/thresholds.hpp) `omega which status
  //   value value_error`, by interpolation in alpha; only for lines whose tasks have finished
  // With the parameter `with`, which is `bayes`, records and lines have what BesideBayes adds.
  //   statuses: how many records have each status
  Json assemble(const Fetch& fetch, const std::function<void(const Json&)>& emit) const;

 private:
  Json parameters_;
  std::vector<double> alphas_, omegas_;
  std::vector<std::string> all_branches_, branches_, ids_;
};

}  // namespace qksolve::results
