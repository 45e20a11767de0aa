#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/usage.hpp"
#include "commands.hpp"

using namespace qksolve::app;
using Json = nlohmann::json;

namespace {

struct Outcome {
  int code;
  std::string out, err;
  Json json() const { return Json::parse(out); }
};

Outcome run(std::vector<std::string> words, const std::string& verb = "solve") {
  words.insert(words.begin(), {"qksolve", "flow", verb});
  std::ostringstream out, err;
  const int code = run_program(words, out, err);
  return {code, out.str(), err.str()};
}

}  // namespace

// Figure 4 of Vashisht & Ramaswamy, recomputed to ten digits: eta_QK/eta_OV, mu_OV, mu_QK, attention, t at
// loss 1e-4.
TEST_CASE("flow solve gives the table of the paper's equal-loss figure") {
  const double table[3][5] = {{0.01, 81.6686986330, 0.5587757048, 0.1488297176, 255394405.2},
                              {0.1, 42.2815241601, 1.3948884652, 0.2874714096, 48955873.37},
                              {1, 20.5625667089, 2.6711391443, 0.5911095401, 12636915.16}};
  for (const std::string method : {"ode", "closed-form"}) {
    const Outcome outcome =
        run({"--ratio", "0.01,0.1,1", "--u0", "0", "--beta0", "0", "--at-loss", "1e-4", "--method", method});
    REQUIRE(outcome.code == kDone);
    const Json json = outcome.json();
    REQUIRE(json["records"].size() == 3);
    for (int i = 0; i < 3; ++i) {
      const Json& r = json["records"][i];
      CHECK(r["at_loss"] == 1e-4);
      CHECK(r["ratio"] == table[i][0]);
      CHECK(std::abs(r["u"].get<double>() - table[i][1]) <= 0.51e-10);
      CHECK(std::abs(r["beta"].get<double>() - table[i][2]) <= 0.51e-10);
      CHECK(std::abs(r["p"].get<double>() - table[i][3]) <= 0.51e-10);
      CHECK(r["t"].get<double>() == doctest::Approx(table[i][4]).epsilon(5e-10));
    }
  }
}

TEST_CASE("flow solve compares the parameterizations at equal loss") {
  const Outcome outcome = run({"--parameterization", "FACO,CACO,FAFO,CAFO", "--ratio", "0.1,1", "--at-loss",
                               "0.01", "--query", "shared", "--classes", "10", "--pool", "1", "--common",
                               "20", "--distinct-per-sequence", "2", "--common-per-sequence", "20"});
  REQUIRE(outcome.code == kDone);
  const double p[8] = {0.983269, 0.999226, 0.730188, 0.965490, 0.502960, 0.990620, 0.283427, 0.744439};
  const Json json = outcome.json();
  for (int i = 0; i < 8; ++i) CHECK(std::abs(json["records"][i]["p"].get<double>() - p[i]) <= 0.51e-6);
}

TEST_CASE("the records of flow solve hold what the contract names") {
  const Outcome outcome = run({"--parameterization", "all", "--t-max", "1e6"});
  REQUIRE(outcome.code == kDone);
  CHECK(outcome.out.find("null") == std::string::npos);
  const Json json = outcome.json();
  CHECK(json["schema"] == "qksolve.flow.solve/1");
  REQUIRE(json["records"].size() == 800);
  for (const Json& r : json["records"]) {
    CHECK(r["status"] == "converged");
    for (const std::string key : {"t", "u", "beta", "p", "margin", "loss"}) {
      CHECK(r[key].is_number());
      CHECK(r[key + "_error"].get<double>() <= 1e-10 * r[key].get<double>());
    }
    CHECK(r["invariant_drift"].get<double>() < 1e-10);
  }
  CHECK(json["records"][0]["t"] == 1.0);
  CHECK(json["records"][199]["t"] == 1e6);
  CHECK(json["summary"]["growth"].size() == 4);
  CHECK(json["summary"]["growth"][0]["local_exponents"].size() == 6);
}

TEST_CASE("a result file reruns to the same records") {
  const std::string path = (std::filesystem::temp_directory_path() / "qksolve_flow_rerun.json").string();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--eta-qk", "0.3", "--eta-ov", "0.7", "--times", "50,200,1000"},
        {"--ratio", "0.2,3", "--parameterization", "FAFO,CACO", "--at-loss", "0.5"}}) {
    std::vector<std::string> first = words;
    first.insert(first.end(), {"-o", path});
    REQUIRE(run(first).code == kDone);
    const Json original = Json::parse(std::ifstream(path));
    const Outcome again = run({"--config", path});
    REQUIRE(again.code == kDone);
    for (const std::string key : {"parameters", "records", "summary"})
      CHECK(again.json()[key] == original[key]);
  }
  std::filesystem::remove(path);
}

TEST_CASE("an unreachable loss ends as step_limit with the last state") {
  const Outcome outcome = run({"--at-loss", "1e-12,0.1", "--t-max", "1e8"});
  CHECK(outcome.code == kNotConverged);
  const Json json = outcome.json(), &first = json["records"][0];
  CHECK(first["status"] == "step_limit");
  CHECK(first.contains("reason"));
  CHECK(first["t"] == 1e8);
  CHECK(first["at_loss"] == 1e-12);
  CHECK(json["records"][1]["status"] == "converged");
}

TEST_CASE("where the integration fails and the closed form does not, the reason says so") {
  const std::vector<std::string> words = {"--parameterization", "FAFO", "--ratio", "1e6", "--t-max", "1e200",
                                          "--tolerance",        "1e-11"};
  std::vector<std::string> ode = words;
  ode.insert(ode.end(), {"--method", "ode"});
  const Json closed = run(words).json()["records"], integrated = run(ode).json()["records"];
  std::size_t failed = 0;
  for (std::size_t i = 0; i < integrated.size(); ++i) {
    if (integrated[i]["status"] == "converged") continue;
    ++failed;
    const bool named = integrated[i]["reason"].get<std::string>().find("--method closed-form solves it") !=
                       std::string::npos;
    CHECK(named == (closed[i]["status"] == "converged"));
  }
  CHECK(failed > 0);
}

TEST_CASE("learning rates that leave the range of numbers do not look converged") {
  for (const std::string method : {"ode", "closed-form"}) {
    const Outcome outcome =
        run({"--eta-ov", "1e308", "--eta-qk", "1e308", "--t-max", "1e300", "--method", method});
    CHECK(outcome.code == kNotConverged);
    CHECK(outcome.json()["records"][199]["status"] != "converged");
  }
}

TEST_CASE("bad input is a usage error that names the option") {
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases = {
      {{"--u0", "0", "--parameterization", "CAFO"}, {"--u0", "--imbalance-ov"}},
      {{"--beta0", "0", "--parameterization", "all"}, {"--beta0", "--imbalance-qk"}},
      {{"--ratio", "0"}, {"--ratio", "'0'", "> 0"}},
      {{"--eta-qk", "1e300", "--eta-ov", "1e-300"}, {"--eta-qk", "'1e+300'", "--eta-ov"}},
      {{"--eta-qk", "1e-300", "--eta-ov", "1e300"}, {"--eta-qk", "'1e-300'", "--eta-ov"}},
      {{"--ratio", "1,1e300", "--eta-ov", "1e10"}, {"--ratio", "'1e+300'", "--eta-ov"}},
      {{"--ratio", "-1"}, {"--ratio", "'-1'"}},
      {{"--ratio", "nan"}, {"--ratio", "'nan'"}},
      {{"--eta-qk", "1", "--ratio", "2"}, {"--eta-qk", "--ratio"}},
      {{"--parameterization", "CACO,CACO"}, {"--parameterization", "CACO,CACO"}},
      {{"--parameterization", "CAXO"}, {"--parameterization", "CAXO"}},
      {{"--at-loss", "0"}, {"--at-loss", "'0'"}},
      {{"--times", "5", "--t-max", "3"}, {"--times", "'5'", "--t-max 3"}},
      {{"--t-max", "0.5"}, {"--t-max", "> 1"}},
      {{"--imbalance-qk", "0.5"}, {"--imbalance-qk", "'0.5'", "CACO"}},
      {{"--imbalance-ov", "-0.5", "--parameterization", "FACO"}, {"--imbalance-ov", "'-0.5'", "FACO"}},
      {{"--imbalance-qk", "1", "--parameterization", "all"}, {"--imbalance-qk", "CACO"}},
      {{"--imbalance-qk", "1", "--parameterization", "FAFO,CAFO"}, {"--imbalance-qk", "CAFO"}},
      {{"--classes", "1"}, {"--classes", "'1'"}},
      {{"--query", "none"}, {"--query", "none"}},
      {{"--beta0", "501"}, {"--beta0", "501"}}};
  for (const auto& [words, expected] : cases) {
    const Outcome outcome = run(words);
    CAPTURE(outcome.err);
    CHECK(outcome.code == kUsage);
    CHECK(outcome.out.empty());
    for (const std::string& text : expected) CHECK(outcome.err.find(text) != std::string::npos);
  }
}

TEST_CASE("flow simulate records the projections and compares them with the reduced flow") {
  const std::vector<std::string> words = {"--d",     "40", "--parameterization", "all", "--optimizer", "rk4",
                                          "--steps", "100"};
  const Outcome outcome = run(words, "simulate");
  REQUIRE(outcome.code == kDone);
  const Json json = outcome.json();
  CHECK(json["schema"] == "qksolve.flow.simulate/1");
  CHECK(json["parameters"]["d"] == 40);
  CHECK(json["records"].back()["t"] == 100.0);
  for (const Json& r : json["records"])
    for (const std::string key : {"u", "beta", "p", "margin", "loss", "off_line_ov", "off_line_qk", "u_error",
                                  "beta_error", "p_error", "margin_error", "loss_error", "invariant_drift"})
      CHECK(r[key].is_number());
  REQUIRE(json["summary"]["reduced_flow"].size() == 4);
  for (const Json& row : json["summary"]["reduced_flow"])
    CHECK(row["largest_p_difference"].get<double>() < 1e-4);
}

TEST_CASE("flow simulate reruns from its result, and differs between seeds only where it should") {
  const std::string path = (std::filesystem::temp_directory_path() / "qksolve_simulate_rerun.json").string();
  const std::vector<std::string> words = {"--d",     "40", "--optimizer", "sgd",   "--batch", "8",
                                          "--steps", "20", "--times",     "10,20", "--init",  "random",
                                          "--seed",  "3",  "-o",          path};
  REQUIRE(run(words, "simulate").code == kDone);
  const Json original = Json::parse(std::ifstream(path));
  CHECK(original["records"].size() == 2);
  const Outcome again = run({"--config", path}, "simulate"),
                other = run({"--config", path, "--seed", "4"}, "simulate");
  for (const std::string key : {"parameters", "records", "summary"})
    CHECK(again.json()[key] == original[key]);
  CHECK(other.json()["records"] != original["records"]);
  std::filesystem::remove(path);
}

TEST_CASE("flow simulate refuses bad input and reports learning rates that blow up") {
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases = {
      {{"--d", "20"}, {"--d", "'20'", "31"}},
      {{"--optimizer", "sgd", "--batch", "0"}, {"--batch", "'0'"}},
      {{"--batch", "5"}, {"--batch", "--optimizer"}},
      {{"--times", "3.5"}, {"--times", "'3.5'", "--step-size"}},
      {{"--inner-dimension", "3"}, {"--inner-dimension", "'3'"}},
      {{"--imbalance-ov", "1"}, {"--imbalance-ov", "'1'", "CACO"}},
      {{"--imbalance-ov", "1", "--parameterization", "CAFO", "--init", "random"},
       {"--imbalance-ov", "'1'", "--init random"}},
      {{"--u0", "0", "--parameterization", "FAFO"}, {"--u0", "--imbalance-ov"}}};
  for (const auto& [words, expected] : cases) {
    const Outcome outcome = run(words, "simulate");
    CHECK(outcome.code == kUsage);
    for (const std::string& text : expected) CHECK(outcome.err.find(text) != std::string::npos);
  }
  const Outcome outcome =
      run({"--d", "40", "--eta-ov", "1e200", "--eta-qk", "1e200", "--parameterization", "FAFO"}, "simulate");
  CHECK(outcome.code == kNotConverged);
  const Json last = outcome.json()["records"].back();
  CHECK(last["status"] == "non_finite");
  CHECK(last["step"] == 0);
  CHECK(last["u"].get<double>() == doctest::Approx(0.05));
}

TEST_CASE("the presets of flow simulate set the paper's synthetic experiments") {
  const Outcome outcome = run({"--preset", "fig3", "--steps", "250", "--test-sequences", "50"}, "simulate");
  REQUIRE(outcome.code == kDone);
  const Json json = outcome.json();
  REQUIRE(json["records"].size() == 10);
  CHECK(json["records"][0]["attention_fraction"] == 0.2);
  CHECK(json["records"][9]["parameterization"] == "CAFO");
  CHECK(json["summary"]["attention"].size() == 10);
  CHECK(json["parameters"]["eta_ov"] == 0.01);
  CHECK(json["parameters"]["d"] == 50);
  const std::string path = (std::filesystem::temp_directory_path() / "qksolve_preset_rerun.json").string();
  std::ofstream(path) << outcome.out;
  const Outcome again = run({"--config", path, "--threads", "3"}, "simulate");
  CHECK(again.json()["records"] == json["records"]);
  std::filesystem::remove(path);

  const Outcome short_run = run({"--preset", "fig2", "--steps", "300", "--test-sequences", "50"}, "simulate");
  CHECK(short_run.code == kNotConverged);
  REQUIRE(short_run.json()["records"].size() == 4);
  const Json short_result = short_run.json();
  for (const Json& r : short_result["records"]) {
    CHECK(r["status"] == "iteration_limit");
    CHECK(r["step"] == 300);
    CHECK(r["p"].get<double>() == doctest::Approx(0.35).epsilon(0.1));
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"--preset", "fig1"}, "--preset"},
      {{"--preset", "fig2", "--classes", "5"}, "--classes"},
      {{"--preset", "fig2", "--times", "5"}, "--times"},
      {{"--preset", "fig2", "--u0", "0.1"}, "--u0"},
      {{"--preset", "fig3", "--parameterization", "FACO"}, "FACO"},
      {{"--preset", "fig3", "--ratio", "2"}, "--ratio"}};
  for (const auto& [words, expected] : refused) {
    const Outcome bad = run(words, "simulate");
    CHECK(bad.code == kUsage);
    CHECK(bad.err.find(expected) != std::string::npos);
  }
}
