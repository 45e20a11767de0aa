#include "qksolve/results/compare.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "commands.hpp"

using namespace qksolve::results;

namespace {

Json theory(double train_loss, double error) {
  Json json;
  json["schema"] = "qksolve.phase.solve/1";
  json["parameters"] = {{"sigma", 0.5}, {"lambda", 0.01}, {"teacher_matrix", {0.6, 0.4, 0.4, 0.6}}};
  json["records"] = Json::array();
  for (const char* branch : {"semantic", "positional"})
    json["records"].push_back({{"alpha", 2.0},
                               {"omega", 0.3},
                               {"branch", branch},
                               {"status", "converged"},
                               {"train_loss", train_loss},
                               {"train_loss_error", error},
                               {"gen_error_linear", 0.002}});
  json["records"].push_back(
      {{"alpha", 2.0}, {"omega", 0.3}, {"branch", "uninformed"}, {"status", "branch_changed"}});
  json["summary"] = Json::object();
  return json;
}

Json simulation(double train_loss, double error) {
  Json json = theory(0, 0);
  json["schema"] = "qksolve.phase.simulate/1";
  json["records"] = Json::array();
  json["summary"]["groups"] = Json::array();
  json["summary"]["groups"].push_back({{"alpha", 2.0},
                                       {"omega", 0.3},
                                       {"d", 100},
                                       {"init", "semantic"},
                                       {"optimizer", "lbfgs"},
                                       {"train_loss", 9.0},
                                       {"train_loss_error", 9.0},
                                       {"train_loss_controlled", train_loss},
                                       {"train_loss_controlled_error", error},
                                       {"gen_error_linear", 0.0021}});
  return json;
}

std::string saved(const Json& json, const std::string& name) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("qksolve_test_compare_" + name)).string();
  std::ofstream(path) << json.dump();
  return path;
}

int compare(const std::string& a, const std::string& b, std::string& out, std::string& err) {
  std::ostringstream to_out, to_err;
  const int code = qksolve::app::run_program({"qksolve", "compare", a, b}, to_out, to_err);
  out = to_out.str();
  err = to_err.str();
  return code;
}

}  // namespace

TEST_CASE("compare joins theory and simulation and counts combined errors") {
  const Comparison c = compare_results(theory(1.0, 0.3), "a", simulation(2.0, 0.4), "b", 4);
  REQUIRE(c.records.size() == 2);
  CHECK(c.records[0]["quantity"] == "train_loss");
  CHECK(c.records[0]["branch"] == "semantic");
  CHECK(c.records[0]["b"] == 2.0);
  CHECK(c.records[0]["sigmas"].get<double>() == doctest::Approx(2.0));
  CHECK(!c.records[1].contains("sigmas"));  // a single instance has no error
  CHECK(c.summary["chi_square"].get<double>() == doctest::Approx(4.0));
  CHECK(c.summary["count"] == 1);
  CHECK(c.summary["only_in_a"] == 1);
  CHECK(c.summary["only_in_b"] == 0);
  CHECK(c.all_within);
  CHECK(!compare_results(theory(1.0, 0.3), "a", simulation(2.0, 0.4), "b", 1.9).all_within);
}

TEST_CASE("compare works on two results of one kind") {
  CHECK(compare_results(theory(1, 0.1), "a", theory(1.1, 0.1), "b", 4).records.size() == 4);
  CHECK(compare_results(simulation(1, 0.1), "a", simulation(1.1, 0.1), "b", 4).records.size() == 2);
  // Exact values that differ are outside any limit.
  CHECK(compare_results(theory(1, 0), "a", theory(1, 0), "b", 4).all_within);
  CHECK(!compare_results(theory(1, 0), "a", theory(1.1, 0), "b", 4).all_within);
}

TEST_CASE("compare takes the extrapolation of a simulation where there is one") {
  Json several = simulation(2.0, 0.1);
  several["summary"]["extrapolation"] = Json::array();
  several["summary"]["extrapolation"].push_back(
      {{"alpha", 2.0}, {"omega", 0.3}, {"init", "semantic"}, {"train_loss", 1.0}, {"train_loss_error", 0.1}});
  CHECK(compare_results(theory(1.0, 0.1), "a", several, "b", 4).records[0]["b"] == 1.0);
}

TEST_CASE("compare takes the form of the limit from a simulation at one d") {
  Json one = simulation(2.0, 0.1);
  one["summary"]["groups"][0].update({{"train_loss_limit_controlled", 1.5},
                                      {"train_loss_limit_controlled_error", 0.2},
                                      {"train_loss_limit", 1.6},
                                      {"train_loss_limit_error", 0.5}});
  const Json record = compare_results(theory(1.0, 0.1), "a", one, "b", 4).records[0];
  CHECK(record["b"] == 1.5);
  CHECK(record["b_error"] == 0.2);
}

TEST_CASE("compare joins thresholds with crossings of minimisers") {
  Json critical = theory(1, 1), crossing = simulation(1, 1);
  critical["schema"] = "qksolve.phase.critical/1";
  critical["records"] = Json::array();
  for (const char* which : {"alpha_l", "alpha_c"})
    critical["records"].push_back(
        {{"omega", 0.3}, {"which", which}, {"status", "converged"}, {"value", 1.25}, {"value_error", 0.0}});
  crossing["summary"]["crossings"] = Json::array();
  for (const double value : {1.1, 1.2})  // at one d, and extrapolated: the latter counts
    crossing["summary"]["crossings"].push_back(
        {{"omega", 0.3}, {"alpha_crossing", value}, {"alpha_crossing_error", 0.05}});
  crossing["summary"]["crossings"][0]["d"] = 100;
  const Comparison c = compare_results(critical, "a", crossing, "b", 4);
  CHECK(c.coordinates == std::vector<std::string>{"omega", "which"});
  REQUIRE(c.records.size() == 1);
  CHECK(c.records[0]["which"] == "alpha_c");
  CHECK(c.records[0]["sigmas"].get<double>() == doctest::Approx(-1.0));
  CHECK(c.summary["only_in_a"] == 1);
}

TEST_CASE("compare joins flow results on parameterization, ratio and time") {
  Json solved, trained;
  solved["schema"] = "qksolve.flow.solve/1";
  solved["parameters"] = {{"classes", 20},
                          {"pool", 50},
                          {"common", 50},
                          {"distinct_per_sequence", 5},
                          {"common_per_sequence", 50},
                          {"query", "paper"},
                          {"u0", 0.05},
                          {"beta0", 0.05}};
  for (const double t : {1.0, 10.0})
    solved["records"].push_back({{"parameterization", "CACO"},
                                 {"ratio", 1.0},
                                 {"t", t},
                                 {"status", "converged"},
                                 {"u", t},
                                 {"u_error", 1e-9}});
  trained = solved;
  trained["schema"] = "qksolve.flow.simulate/1";
  trained["records"].erase(0);
  trained["records"][0]["u"] = 10.0 + 2e-9;
  const Comparison c = compare_results(solved, "a", trained, "b", 4);
  REQUIRE(c.records.size() == 1);
  CHECK(c.records[0]["t"] == 10.0);
  CHECK(c.records[0]["sigmas"].get<double>() == doctest::Approx(std::sqrt(2.0)).epsilon(1e-6));
  trained["parameters"]["classes"] = 19;
  CHECK_THROWS_AS(compare_results(solved, "a", trained, "b", 4), ContentError);
  CHECK_THROWS_AS(compare_results(solved, "a", theory(1, 1), "b", 4), ContentError);
}

TEST_CASE("compare does not pass what it could not judge") {
  Json unknown = simulation(1, 1);
  for (const char* key : {"train_loss_error", "train_loss_controlled_error"})
    unknown["summary"]["groups"][0].erase(key);
  CHECK(!compare_results(theory(1, 0.1), "a", unknown, "b", 4).all_within);
  std::string out, err;
  const std::string a = saved(theory(1, 0.1), "a.json");
  CHECK(compare(a, saved(unknown, "unknown.json"), out, err) == 3);
  CHECK(err.find("no difference could be judged") != std::string::npos);
  Json elsewhere = theory(1, 0.1);
  for (Json& record : elsewhere["records"]) record["alpha"] = 3.0;
  CHECK(compare(a, saved(elsewhere, "elsewhere.json"), out, err) == 2);
  CHECK(err.find("alpha, omega, branch") != std::string::npos);
}

TEST_CASE("compare refuses numbers that cannot be errors or values") {
  std::string out, err;
  const std::string a = saved(theory(1, 0.1), "a.json");
  CHECK(compare(a, saved(theory(1, -0.1), "negative.json"), out, err) == 2);
  CHECK(err.find("train_loss_error") != std::string::npos);
  CHECK(compare(saved(theory(1e308, 0.1), "huge.json"), saved(theory(-1e308, 0.1), "low.json"), out, err) ==
        2);
  CHECK(err.find("'train_loss'") != std::string::npos);
  CHECK(compare(a, saved(theory(1, 1e308), "error.json"), out, err) == 2);
}

TEST_CASE("compare notices that its result cannot be written") {
  const std::string a = saved(theory(1, 0.1), "a.json");
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  CHECK(qksolve::app::run_program({"qksolve", "compare", a, a}, out, err) == 4);
}

TEST_CASE("compare: exit codes and messages") {
  std::string out, err;
  const std::string a = saved(theory(1, 0.1), "a.json"), b = saved(simulation(1.1, 0.1), "b.json");
  CHECK(compare(a, b, out, err) == 0);
  CHECK(err.find("chi-square") != std::string::npos);
  CHECK(Json::parse(out).at("schema") == "qksolve.compare/1");
  CHECK(compare(a, saved(simulation(2, 0.1), "far.json"), out, err) == 3);
  CHECK(compare(a, "/nonexistent/file.json", out, err) == 4);

  Json other = simulation(1, 0.1);
  other["parameters"]["sigma"] = 0.4;
  CHECK(compare(a, saved(other, "sigma.json"), out, err) == 2);
  CHECK(err.find("sigma") != std::string::npos);

  other = simulation(1, 0.1);
  other["parameters"]["tokens"] = 3;
  CHECK(compare(a, saved(other, "tokens.json"), out, err) == 2);

  other = simulation(1, 0.1);
  other["summary"].erase("groups");
  CHECK(compare(a, saved(other, "groups.json"), out, err) == 2);
  CHECK(err.find("groups.json") != std::string::npos);
  CHECK(err.find("'groups'") != std::string::npos);

  const std::string truncated = saved(theory(1, 0.1), "truncated.json");
  std::filesystem::resize_file(truncated, 40);
  CHECK(compare(truncated, b, out, err) == 2);
  CHECK(err.find("truncated.json") != std::string::npos);
  CHECK(compare(a, saved(Json{{"schema", "something/1"}}, "foreign.json"), out, err) == 2);
  CHECK(compare(a, saved(Json{{"name", "x"}}, "strange.json"), out, err) == 2);
  CHECK(out.empty());

  other = theory(1, 0.1);
  other["records"][1]["alpha"] = "two";
  CHECK(compare(a, saved(other, "word.json"), out, err) == 2);
  CHECK(err.find("word.json: records, row 2: key 'alpha'") != std::string::npos);
}

TEST_CASE("compare: JSON on standard output, the table beside it; --quiet silences the table alone") {
  const std::string a = saved(theory(1, 0.1), "a.json");
  std::ostringstream out, err;
  CHECK(qksolve::app::run_program({"qksolve", "compare", a, a, "--quiet"}, out, err) == 0);
  CHECK(err.str().empty());
  CHECK(Json::parse(out.str()).at("records").size() == 4);
}

TEST_CASE("compare: control characters of foreign records do not reach the terminal") {
  Json foreign = theory(1, 0.1);
  for (Json& record : foreign["records"]) record["branch"] = "\x1b[31mred\nline";
  const std::string a = saved(foreign, "escape.json");
  std::string out, err;
  CHECK(compare(a, a, out, err) == 0);
  CHECK(err.find('\x1b') == std::string::npos);
  CHECK(err.find("\\x1b[31mred\\x0aline") != std::string::npos);
}
