#include "qksolve/results/figures/plot.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <sstream>

using namespace qksolve::results;

namespace {

const std::string kFolder = std::string(QKSOLVE_REFERENCE_DIR) + "/figures/";

std::vector<Input> read(const std::vector<std::string>& names) {
  std::vector<Input> inputs;
  for (const std::string& name : names) inputs.push_back({name, read_result(kFolder + name)});
  return inputs;
}

std::string reference(const std::string& name) {
  std::ifstream file(kFolder + name);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

const Series& series(const Figure& figure, const std::string& name) {
  for (const Panel& panel : figure.panels)
    for (const Series& s : panel.series)
      if (s.name == name) return s;
  FAIL(name);
  return figure.panels.front().series.front();
}

std::string refusal(const std::vector<Input>& inputs) {
  try {
    make_figure(inputs);
  } catch (const ContentError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Input result(const std::string& kind, std::vector<Json> records, const Json& summary = Json::object()) {
  Json json;
  json["schema"] = "qksolve." + kind + "/1";
  json["parameters"] = {{"sigma", 0.5}, {"lambda", 0.01}, {"teacher_matrix", {0.6, 0.4, 0.4, 0.6}}};
  json["records"] = std::move(records);
  json["summary"] = summary;
  return {kind + ".json", json};
}

}  // namespace

// Made by `qksolve plot sweep.json -o phase_diagram.svg --data-only` and
// `qksolve plot solve.json simulate.json -o phase_curves.pdf --data-only` in tests/reference/figures, after
// looking at the figures.
TEST_CASE("the gnuplot scripts of fixed inputs") {
  CHECK(gnuplot_script(make_figure(read({"sweep.json"})), "phase_diagram.svg", "phase_diagram.dat") ==
        reference("phase_diagram.gp"));
  CHECK(gnuplot_script(make_figure(read({"solve.json", "simulate.json"})), "phase_curves.pdf",
                       "phase_curves.dat") == reference("phase_curves.gp"));
}

TEST_CASE("a block of the table for every index of the script") {
  const Figure figure = make_figure(read({"solve.json", "simulate.json"}));
  const std::string script = gnuplot_script(figure, "a.png", "a.dat"), table = gnuplot_table(figure);
  std::istringstream lines(table);
  std::string line;
  std::size_t blocks = 0, blank = 0;
  while (std::getline(lines, line)) {
    // Two blank lines in a row begin a block for gnuplot.
    if (line.empty() && ++blank == 2) ++blocks;
    if (!line.empty()) blank = 0;
  }
  CHECK(contains(script, "index " + std::to_string(blocks) + " "));
  CHECK_FALSE(contains(script, "index " + std::to_string(blocks + 1) + " "));
}

TEST_CASE("phase diagram: differences with their errors, lines, and what is not there") {
  const std::vector<Input> inputs = read({"sweep.json"});
  const Figure figure = make_figure(inputs);
  const Series& map = series(figure, "train_loss, positional - semantic");
  std::size_t checked = 0;
  for (const auto& row : map.rows) {
    double positional = 0, semantic = 0, error_squared = 0;
    for (const Json& record : records_of(inputs[0])) {
      if (record["alpha"] != row[0] || record["omega"] != row[1]) continue;
      if (record["branch"] == "uninformed") continue;
      (record["branch"] == "positional" ? positional : semantic) = record["train_loss"];
      error_squared += std::pow(record["train_loss_error"].get<double>(), 2);
    }
    CHECK(row[6] == positional - semantic);
    CHECK(row[7] == doctest::Approx(std::sqrt(error_squared)).epsilon(1e-12));
    CHECK(row[2] <= row[0]);
    CHECK(row[0] <= row[3]);
    ++checked;
  }
  // Of eight places three have one of the two branches only.
  CHECK(checked == 5);
  CHECK(series(figure, "train_loss, positional - semantic: only positional").rows.size() == 2);
  CHECK(series(figure, "train_loss, positional - semantic: only semantic").rows.size() == 1);
  // Attention loses against the baseline where the positional minimum is the lower one, and beyond alpha_l it
  // wins.
  for (const auto& row : series(figure, "gen_error - gen_error_linear").rows)
    CHECK((row[6] < 0) == (row[0] > (row[1] < 0.2 ? 0.893 : 1.492)));
  CHECK(series(figure, "alpha_c").rows[1] == std::vector<double>{0.3, 1.25154, 0.00053191});
}

TEST_CASE("thresholds of phase critical take the place of the lines of a sweep; k-th limits form a line") {
  std::vector<Json> rows;
  for (const double omega : {0.1, 0.2}) {
    rows.push_back({{"omega", omega},
                    {"which", "alpha_c"},
                    {"status", "converged"},
                    {"value", 1 + omega},
                    {"value_error", 0.01}});
    for (const double value : {0.5, 5.0})
      rows.push_back({{"omega", omega},
                      {"which", "positional_exists"},
                      {"status", "converged"},
                      {"value", value},
                      {"value_error", 0.01},
                      {"limit", "lower"}});
  }
  rows.push_back({{"omega", 0.3}, {"which", "alpha_c"}, {"status", "no_bracket"}, {"reason", "x"}});
  std::vector<Input> inputs = read({"sweep.json"});
  inputs.push_back(result("phase.critical", rows));
  const Figure figure = make_figure(inputs);
  CHECK(series(figure, "alpha_c").rows ==
        std::vector<std::vector<double>>{{0.1, 1.1, 0.01}, {0.2, 1.2, 0.01}});
  const Series& second = series(figure, "positional_exists, lower limit 2");
  CHECK(second.rows == std::vector<std::vector<double>>{{0.1, 5.0, 0.01}, {0.2, 5.0, 0.01}});
}

TEST_CASE("lines are interrupted where a branch is missing") {
  std::vector<Json> records;
  for (const double alpha : {3.0, 1.0, 2.0, 4.0}) {
    Json record{{"alpha", alpha},      {"omega", 0.3},        {"branch", "semantic"}, {"status", "converged"},
                {"theta", alpha / 10}, {"theta_error", 1e-3}, {"train_loss", 1e-3},   {"gen_error", 1e-3}};
    if (alpha == 2.0) record["status"] = "branch_changed";
    records.push_back(record);
  }
  const Figure figure = make_figure({result("phase.solve", records)});
  CHECK(series(figure, "semantic").rows ==
        std::vector<std::vector<double>>{{1, 0.1, 1e-3}, {}, {3, 0.3, 1e-3}, {4, 0.4, 1e-3}});
}

TEST_CASE("finite size: percent of the limit, with the fit and the theory") {
  Json summary;
  for (const int d : {100, 200})
    summary["groups"].push_back({{"alpha", 2.0},
                                 {"omega", 0.3},
                                 {"d", d},
                                 {"init", "semantic"},
                                 {"optimizer", "lbfgs"},
                                 {"train_loss", 0.004 + 0.1 / d},
                                 {"train_loss_error", 1e-5}});
  summary["extrapolation"].push_back({{"alpha", 2.0},
                                      {"omega", 0.3},
                                      {"init", "semantic"},
                                      {"optimizer", "lbfgs"},
                                      {"train_loss", 0.004},
                                      {"train_loss_error", 2e-5},
                                      {"train_loss_slope", 0.1}});
  const Json theory{{"alpha", 2.0},          {"omega", 0.3},          {"branch", "semantic"},
                    {"status", "converged"}, {"train_loss", 0.00402}, {"train_loss_error", 0.0}};
  const Figure figure = make_figure({result("phase.simulate", {}, summary), result("phase.solve", {theory})});
  REQUIRE(figure.panels.size() == 1);  // the other quantities are not known
  const auto& points = series(figure, "semantic: train_loss").rows;
  CHECK(points[0][0] == 0.01);
  CHECK(points[0][1] == doctest::Approx(25.0));
  CHECK(points[0][2] == doctest::Approx(0.25));
  const auto& fit = series(figure, "semantic: fit").rows;
  CHECK(fit[0][2] == doctest::Approx(0.5));
  CHECK(fit[1][1] / fit[1][0] == doctest::Approx(2500.0));
  CHECK(series(figure, "semantic: theory").rows[0][1] == doctest::Approx(0.5));
}

TEST_CASE("flow: trajectories, states of equal loss, heatmaps") {
  const Json point{{"parameterization", "CACO"},
                   {"ratio", 0.1},
                   {"status", "converged"},
                   {"t", 10.0},
                   {"u", 1.0},
                   {"beta", 0.1},
                   {"p", 0.2},
                   {"p_error", 0.0},
                   {"loss", 2.0}};
  CHECK(make_figure({result("flow.solve", {point})}).panels.size() == 4);
  Json at_loss = point;
  at_loss["at_loss"] = 0.5;
  const Figure equal = make_figure({result("flow.solve", {at_loss})});
  CHECK(series(equal, "CACO, loss 0.5").rows == std::vector<std::vector<double>>{{0.1, 0.2, 0.0}});
  CHECK(make_figure({result("flow.simulate", {point})}).panels.size() == 4);
  Json summary;
  summary["attention"].push_back(
      {{"parameterization", "CACO"}, {"ratio", 0.1}, {"heatmap", {{0.0, 25.0}, {0.0, 75.0}}}});
  const Figure map = make_figure({result("flow.simulate", {point}, summary)});
  CHECK(series(map, "CACO, ratio 0.1").rows ==
        std::vector<std::vector<double>>{{0.25, 0.75, 0.0, 0.5, 0.5, 1.0, 25.0},
                                         {0.75, 0.75, 0.5, 1.0, 0.5, 1.0, 75.0}});
}

TEST_CASE("what cannot be drawn is refused with a reason") {
  const std::string none = refusal({result("compare", {})});
  CHECK(contains(none, "compare.json: compare has no figure"));
  for (const std::string& kind : kinds_with_figure()) {
    CHECK(contains(none, kind));
    const std::string empty = refusal({result(kind, {})});
    CHECK(contains(empty, kind + ".json"));
    CHECK(contains(empty, "nothing to draw"));
  }
  Input other = result("phase.solve", {});
  other.result["schema"] = "qksolve.phase.solve/2";
  CHECK(contains(refusal({other}), "qksolve.phase.solve/2"));
  CHECK(contains(refusal({result("phase.critical", {}), result("phase.solve", {})}), "phase.critical"));

  std::vector<Input> mixed = read({"solve.json", "simulate.json"});
  mixed[1].result["parameters"]["sigma"] = 0.7;
  CHECK(contains(refusal(mixed), "simulate.json: sigma is 0.7, expected 0.5 as in solve.json"));

  Input damaged = result("phase.solve", {{{"alpha", "one"}, {"omega", 0.3}, {"branch", "semantic"}}});
  CHECK(contains(refusal({damaged}), "phase.solve.json"));
  CHECK(contains(refusal({damaged}), "records, row 1: key 'alpha' is \"one\", expected a number"));
  CHECK_FALSE(contains(refusal({damaged}), "json.exception"));
  damaged.result.erase("records");
  CHECK(contains(refusal({damaged}), "'records'"));
  CHECK(contains(refusal({result("phase.solve", {{{"omega", 0.3}}})}), "phase.solve.json"));
}

TEST_CASE("what there is not to draw is named as it is") {
  const Json map{{"integrator", "euler"}, {"quantity", "volume"}, {"status", "converged"}, {"measured", 1.0}};
  CHECK(contains(refusal({result("coupled.solve", {map})}), "no record has a context"));
  const Json changed{{"alpha", 1.0}, {"omega", 0.3}, {"branch", "semantic"}, {"status", "branch_changed"}};
  CHECK(contains(refusal({result("phase.solve", {changed})}), "none of its records is converged"));
  CHECK(contains(refusal({result("phase.solve", {})}), "it holds no record"));
}

TEST_CASE("units of axes, colours of lines") {
  CHECK(scale_for(0.0045).column(2) == "($2*1000)");
  CHECK(scale_for(0.0045).label == " (10^{-3})");
  CHECK(scale_for(0.3).column(2) == "2");
  CHECK(scale_for(0).label.empty());
  CHECK(sequential_colour(0) == "#00224E");
  CHECK(sequential_colour(1) == "#DECB56");
  CHECK(plain("a_b^{c}") == "a\\_b\\^\\{c\\}");
}
