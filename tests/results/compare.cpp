#include "qksolve/results/compare.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "program.hpp"

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

TEST_CASE("compare: exit codes and messages") {
  std::string out, err;
  const std::string a = saved(theory(1, 0.1), "a.json"), b = saved(simulation(1.1, 0.1), "b.json");
  CHECK(compare(a, b, out, err) == 0);
  CHECK(out.find("chi-square") != std::string::npos);
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
}
