#include "sweep_output.hpp"

#include <algorithm>
#include <map>
#include <ostream>

#include "qksolve/results/printable.hpp"

namespace qksolve::app {

using results::Json;

namespace {

void print_summary(std::ostream& err, const Json& summary) {
  std::vector<std::string> header{"omega"};
  std::map<double, std::map<std::string, std::string>> rows;
  for (const Json& line : summary["lines"]) {
    const std::string which = line["which"];
    if (std::find(header.begin(), header.end(), which) == header.end()) header.push_back(which);
    rows[line["omega"]][which] =
        line.contains("value") ? with_error(line["value"], line["value_error"]) : "-";
  }
  Table table(header);
  for (auto& [omega, row] : rows) {
    std::vector<std::string> cells{short_number(omega)};
    for (std::size_t i = 1; i < header.size(); ++i) cells.push_back(row[header[i]]);
    table.add(cells);
  }
  if (!rows.empty()) table.print(err);
  std::string counts;
  for (const auto& [status, count] : summary["statuses"].items())
    counts += (counts.empty() ? "" : ", ") + count.dump() + " " + results::printable(status);
  err << "records: " << (counts.empty() ? "none" : counts) << "\n";
}

}  // namespace

int write_sweep(const results::Sweep& sweep, const results::Sweep::Fetch& fetch, results::Result& result,
                results::Output& output, const RunArguments& run, Context& context) {
  if (result.missing.size() == sweep.size()) {  // nothing was finished
    write_result(output, result, context);
    return exit_code(true);
  }
  const auto records = [&](const std::function<void(const Json&)>& emit) {
    result.summary = sweep.assemble(fetch, emit);
  };
  write_result(output, result, context, records);
  if (!run.quiet) print_summary(context.err, result.summary);
  bool all_converged = true;
  for (const auto& [status, count] : result.summary["statuses"].items())
    all_converged = all_converged && (status == "converged" || status == "branch_changed");
  return exit_code(all_converged);
}

}  // namespace qksolve::app
