#include "qksolve/phase/report/sweep.hpp"

#include <algorithm>
#include <charconv>

#include "qksolve/numerics/interpolated_root.hpp"
#include "qksolve/phase/equations/branches.hpp"
#include "qksolve/phase/report/bayes_record.hpp"
#include "qksolve/phase/report/phase_record.hpp"
#include "qksolve/results/work_file.hpp"

namespace qksolve::results {

using numerics::Sample;

namespace {

using Column = std::vector<Json>;  // the records of one branch on one line, one for each alpha

bool exists(const Json& record) { return record.at("status") == "converged"; }

// f at the points around i where it is defined without a gap, and the place of i among them.
struct Stretch {
  std::vector<Sample> samples;
  std::size_t at = 0;
};

template <class F>
Stretch stretch_around(std::size_t i, std::size_t size, const F& f) {
  Stretch found;
  std::size_t first = i;
  while (first > 0 && f(first - 1)) --first;
  found.at = i - first;
  for (std::size_t k = first; k < size; ++k) {
    const std::optional<Sample> sample = f(k);
    if (!sample) break;
    found.samples.push_back(*sample);
  }
  return found;
}

// The two thresholds on one line, from the columns of all branches in the order of phase::all_branches.
class Lines {
 public:
  Lines(const std::vector<Column>& columns, double omega) : columns_(columns), omega_(omega) {}

  Json alpha_c() const {
    Json line = row("alpha_c");
    const Column &semantic = columns_[0], &positional = columns_[1];
    for (std::size_t i = 0; i + 1 < size(); ++i) {
      const auto low = loss_difference(semantic, positional, i),
                 high = loss_difference(semantic, positional, i + 1);
      if (low && high && low->f > 0 && high->f <= 0)
        return converged(line, exchange(semantic, positional, i));
    }
    line["reason"] =
        "the semantic and the positional branch do not exchange their order between points of the grid";
    return not_found(line, loss_difference(semantic, positional, 0),
                     loss_difference(semantic, positional, size() - 1));
  }

  Json alpha_l() const {
    Json line = row("alpha_l");
    auto optimal_excess = [&](std::size_t i) -> std::optional<Sample> {
      const Column* lowest = lowest_branch(i);
      return lowest == nullptr ? std::nullopt : excess(*lowest, i);
    };
    for (std::size_t i = 0; i + 1 < size(); ++i) {
      const auto low = optimal_excess(i), high = optimal_excess(i + 1);
      if (!low || !high || (low->f < 0) == (high->f < 0)) continue;
      const Column *before = lowest_branch(i), *after = lowest_branch(i + 1);
      if (before == after && excess(*before, i + 1)) return converged(line, crossing_on(*before, i));
      // The optimal branch changes inside the cell: see on which side of that the sign changes.
      if (!loss_difference(*after, *before, i) || !loss_difference(*after, *before, i + 1)) break;
      const numerics::InterpolatedRoot crossing = exchange(*after, *before, i);
      if ((value_at(*before, i, crossing.x) < 0) != (low->f < 0) && excess(*before, i + 1))
        return converged(line, crossing_on(*before, i));
      if ((value_at(*after, i + 1, crossing.x) < 0) != (high->f < 0) && excess(*after, i))
        return converged(line, crossing_on(*after, i));
      return converged(line, crossing);
    }
    line["reason"] =
        "the test error of the optimal branch does not cross the linear baseline between points of the grid";
    return not_found(line, optimal_excess(0), optimal_excess(size() - 1));
  }

 private:
  std::size_t size() const { return columns_[0].size(); }
  double alpha(std::size_t i) const { return columns_[0][i].at("alpha"); }

  Json row(const char* which) const {
    Json line;
    line["omega"] = omega_;
    line["which"] = which;
    return line;
  }

  static Json converged(Json line, const numerics::InterpolatedRoot& root) {
    line["status"] = "converged";
    put(line, "value", root.x);
    put(line, "value_error", root.error);
    return line;
  }

  Json not_found(Json line, const std::optional<Sample>& low, const std::optional<Sample>& high) const {
    line["status"] = "no_bracket";
    put(line, "bracket_low", alpha(0));
    put(line, "bracket_high", alpha(size() - 1));
    if (low) put(line, "difference_low", low->f);
    if (high) put(line, "difference_high", high->f);
    return line;
  }

  std::optional<Sample> loss_difference(const Column& one, const Column& other, std::size_t i) const {
    const Json &a = one[i], &b = other[i];
    if (!exists(a) || !exists(b)) return std::nullopt;
    return Sample{alpha(i), a.at("train_loss").get<double>() - b.at("train_loss").get<double>(),
                  a.at("train_loss_error").get<double>() + b.at("train_loss_error").get<double>()};
  }

  // Where the training losses of two branches are equal, in the cell of point i.
  numerics::InterpolatedRoot exchange(const Column& one, const Column& other, std::size_t i) const {
    const Stretch s =
        stretch_around(i, size(), [&](std::size_t k) { return loss_difference(one, other, k); });
    return numerics::interpolated_root(s.samples, s.at);
  }

  static std::optional<Sample> excess(const Column& column, std::size_t i) {
    const Json& r = column[i];
    if (!exists(r)) return std::nullopt;
    return Sample{r.at("alpha"), r.at("gen_error").get<double>() - r.at("gen_error_linear").get<double>(),
                  r.at("gen_error_error").get<double>() + r.value("gen_error_linear_error", 0.0)};
  }

  // The branch of lowest training loss, the uninformed one left aside.
  const Column* lowest_branch(std::size_t i) const {
    const Column* best = nullptr;
    for (const Column& column : columns_)
      if (exists(column[i]) && column[i].at("branch") != "uninformed" &&
          (best == nullptr || loss_difference(column, *best, i)->f < 0))
        best = &column;
    return best;
  }

  Stretch excess_around(const Column& column, std::size_t i) const {
    return stretch_around(i, size(), [&](std::size_t k) { return excess(column, k); });
  }

  numerics::InterpolatedRoot crossing_on(const Column& column, std::size_t i) const {
    const Stretch s = excess_around(column, i);
    return numerics::interpolated_root(s.samples, s.at);
  }

  // Excess of a branch at alpha = x near its point i.
  double value_at(const Column& column, std::size_t i, double x) const {
    const Stretch s = excess_around(column, i);
    const std::size_t last = s.samples.size() - 1;
    return numerics::interpolate(s.samples, s.at > 0 ? s.at - 1 : 0, std::min(s.at + 1, last), x);
  }

  const std::vector<Column>& columns_;
  double omega_;
};

// Whether attention beats the linear baseline, where the errors allow to tell.
void mark_against_baseline(Json& record) {
  if (!exists(record)) return;
  const double excess = record.at("gen_error").get<double>() - record.at("gen_error_linear").get<double>();
  const double error =
      record.at("gen_error_error").get<double>() + record.value("gen_error_linear_error", 0.0);
  if (std::abs(excess) > error) record["beats_linear"] = excess < 0;
}

}  // namespace

Sweep::Sweep(Json parameters)
    : parameters_(std::move(parameters)),
      alphas_(parameters_.at("alpha").get<std::vector<double>>()),
      omegas_(parameters_.at("omega").get<std::vector<double>>()) {
  const Json& branch = parameters_.at("branch");
  for (const phase::Branch& b : phase::all_branches(parameters_.value("rank", 1)))
    all_branches_.push_back(b.name);
  if (branch == "all")
    branches_ = all_branches_;
  else if (branch.is_string())
    branches_ = {branch.get<std::string>()};
  else
    branches_ = branch.get<std::vector<std::string>>();
  Json definition{{"schema", kSweepSchema}, {"parameters", parameters_}};
  definition["parameters"].erase("with");  // no task computes it
  for (std::size_t i = 0; i < size(); ++i) {
    definition["parameters"]["omega"] = omega(i);
    definition["parameters"]["branch"] = this->branch(i);
    ids_.push_back(task_id(definition));
  }
}

Json Sweep::header() const { return {{"schema", kSweepSchema}, {"parameters", parameters_}}; }

std::string Sweep::name(std::size_t task) const {
  return "omega " + Json(omega(task)).dump() + " " + branch(task);
}

std::vector<Json> Sweep::records(std::size_t task, const Json& kept, const std::string& file) const {
  auto refuse = [&](const std::string& what) {
    throw ContentError(file + ": task " + name(task) + ": " + what);
  };
  if (!kept.is_array() || kept.size() != alphas_.size())
    refuse("expected a list of " + std::to_string(alphas_.size()) + " records, one for each alpha");
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Json& record = kept[i];
    auto require = [&](const char* key, bool (Json::*is)() const noexcept) {
      if (!record.is_object() || !record.contains(key) || !(record.at(key).*is)())
        refuse("record " + std::to_string(i + 1) + " has no '" + key + "', or one of another kind");
    };
    for (const char* key : {"branch", "status"}) require(key, &Json::is_string);
    require("alpha", &Json::is_number);
    if (record.at("alpha") != alphas_[i] || record.at("branch") != branch(task))
      refuse("record " + std::to_string(i + 1) + " belongs to another alpha or branch");
    if (!exists(record)) continue;
    for (const char* key :
         {"train_loss", "train_loss_error", "gen_error", "gen_error_error", "gen_error_linear"})
      require(key, &Json::is_number);
    if (record.contains("gen_error_linear_error")) require("gen_error_linear_error", &Json::is_number);
  }
  return kept;
}

Json Sweep::assemble(const Fetch& fetch, const std::function<void(const Json&)>& emit) const {
  Json lines = Json::array(), statuses = Json::object();
  std::optional<BesideBayes> bayes;
  if (parameters_.contains("with")) bayes.emplace(parameters_);
  for (std::size_t first = 0; first < size(); first += branches_.size()) {
    std::vector<Column> columns;
    for (std::size_t k = 0; k < branches_.size(); ++k)
      if (auto column = fetch(first + k)) columns.push_back(std::move(*column));
    const bool complete = columns.size() == all_branches_.size();
    for (std::size_t i = 0; i < alphas_.size() && !columns.empty(); ++i) {
      std::vector<Json> point;
      point.reserve(columns.size());
      for (const Column& column : columns) point.push_back(column.at(i));
      if (complete) mark_global_minimum(point);
      for (Json& record : point) {
        mark_against_baseline(record);
        if (bayes) bayes->add_to(record);
        if (record.value("global_minimum", false)) record["region"] = record.at("branch");
        const std::string status = record.at("status");
        statuses[status] = statuses.value(status, 0) + 1;
        emit(record);
      }
    }
    if (bayes)
      for (const Json& line : bayes->lines(omega(first))) lines.push_back(line);
    if (!complete) continue;
    const Lines thresholds(columns, omega(first));
    lines.push_back(thresholds.alpha_c());
    lines.push_back(thresholds.alpha_l());
  }
  return {{"lines", lines}, {"statuses", statuses}};
}

}  // namespace qksolve::results
