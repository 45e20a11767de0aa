#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "commands.hpp"
#include "qksolve/results/result.hpp"

using qksolve::results::Json;

namespace {

struct Outcome {
  int code;
  std::string out, err;
};

Outcome simulate(std::vector<std::string> words) {
  words.insert(words.begin(), {"qksolve", "phase", "simulate"});
  std::ostringstream out, err;
  const int code = qksolve::app::run_program(words, out, err);
  return {code, out.str(), err.str()};
}

Json without_provenance(const std::string& text) {
  Json json = Json::parse(text);
  json.erase("provenance");
  return json;
}

}  // namespace

TEST_CASE("simulate: any number of threads gives the same bytes") {
  std::string first;
  for (const char* threads : {"1", "2", "3"}) {
    const Outcome o = simulate(
        {"--d", "40,60", "--instances", "8", "--test-samples", "200", "--trajectory", "--threads", threads});
    CHECK(o.code == 0);
    const std::string text = without_provenance(o.out).dump();
    if (first.empty()) first = text;
    CHECK(text == first);
  }
}

TEST_CASE("simulate: a longer run begins with the instances of a shorter one") {
  const std::vector<std::string> common{"--d", "40", "--test-samples", "100", "--quiet", "--instances"};
  auto records = [&](const char* instances) {
    std::vector<std::string> words = common;
    words.emplace_back(instances);
    return Json::parse(simulate(words).out).at("records");
  };
  const Json few = records("2"), many = records("4");
  REQUIRE(few.size() == 4);
  for (std::size_t i = 0; i < few.size(); ++i) CHECK(few[i] == many[i]);
}

TEST_CASE("simulate: records and summary say what the command line contract says") {
  const Outcome o = simulate({"--d", "40,80", "--instances", "12", "--omega", "0.2,0.3", "--test-samples",
                              "100", "--init", "semantic,random", "--trajectory"});
  CHECK(o.code == 0);
  const Json result = Json::parse(o.out);
  CHECK(result["schema"] == "qksolve.phase.simulate/1");
  CHECK(result["records"].size() == 2 * 2 * 12 * 2);
  for (const char* key :
       {"alpha", "omega", "d", "seed", "instance", "init", "optimizer", "status", "train_loss", "gen_error",
        "gen_error_linear", "q", "m", "theta", "iterations", "gradient_norm"})
    CHECK(result["records"][0].contains(key));
  for (const Json& record : result["records"]) {
    const double theta = record["theta"], m = record["m"];
    CHECK((record["init"] == "semantic" ? theta : std::abs(theta) > std::abs(m) ? theta : m) > 0);
  }
  CHECK(result["summary"]["groups"].size() == 8);
  CHECK(result["summary"]["groups"][0]["count"] == 12);
  for (const char* key :
       {"train_loss", "train_loss_error", "train_loss_controlled", "train_loss_controlled_error"})
    CHECK(result["summary"]["groups"][0].contains(key));
  CHECK(result["summary"]["extrapolation"].size() == 4);
  CHECK(result["trace"].size() > 100);
  CHECK(result["parameters"]["steps"] == 1000);
}

TEST_CASE("simulate: its own result as configuration repeats it") {
  const auto path = std::filesystem::temp_directory_path() / "qksolve_test_simulate.json";
  const std::string name = path.string();
  CHECK(simulate({"--d", "30", "--alpha", "1", "--tokens", "3", "--instances", "2", "--test-samples", "50",
                  "-o", name, "--quiet"})
            .code == 0);
  const Outcome again = simulate({"--config", name, "--quiet"});
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  CHECK(without_provenance(again.out) == without_provenance(text.str()));
  std::filesystem::remove(path);
}

TEST_CASE("simulate: a run that blows up is reported and ends with exit code 3") {
  const Outcome o = simulate({"--d", "30", "--optimizer", "gd", "--learning-rate", "1e6", "--quiet"});
  CHECK(o.code == 3);
  const Json record = Json::parse(o.out)["records"][0];
  CHECK(record["status"] == "non_finite");
  CHECK(record.contains("reason"));
  CHECK(record.contains("train_loss"));
}

TEST_CASE("simulate: the response is measured on request, and V is averaged") {
  const std::vector<std::string> words{"--d", "60", "--instances", "3", "--test-samples", "50"};
  std::vector<std::string> with = words;
  with.emplace_back("--response");
  const Json plain = Json::parse(simulate(words).out), result = Json::parse(simulate(with).out);
  CHECK(!plain["records"][0].contains("V"));
  CHECK(result["parameters"]["response"] == true);
  const Json& record = result["records"][0];
  CHECK(record["V"].get<double>() > 0);
  CHECK(record["V"].get<double>() < 0.25 / 0.01);  // V = sigma^2/lambda without data
  CHECK(record["V_error"] == 0.0);
  CHECK(record["trapped_share"].get<double>() >= 0);
  CHECK(result["summary"]["groups"][0].contains("V_error"));
  CHECK(record["train_loss"] == plain["records"][0]["train_loss"]);
}

TEST_CASE("simulate: message passing is summarised beside its prediction") {
  const Outcome o = simulate({"--d", "300", "--instances", "2", "--test-samples", "50", "--optimizer", "amp",
                              "--init", "semantic", "--steps", "12", "--trajectory"});
  CHECK(o.code == 3);  // twelve steps are not enough to converge
  const Json result = Json::parse(o.out);
  CHECK(result["parameters"]["amp_response"] == "total");
  CHECK(result["records"][0]["V"].get<double>() > 0);
  const Json& paths = result["summary"]["paths"];
  REQUIRE(paths.size() == 13);
  for (const Json& row : paths) {
    CHECK(row["count"] == 2);
    for (const std::string key : {"q", "theta", "V"}) {
      CHECK(row.contains(key + "_predicted_error"));
      CHECK(row[key].get<double>() == doctest::Approx(row[key + "_predicted"].get<double>()).epsilon(0.35));
    }
  }
}

TEST_CASE("simulate: bad input ends with exit code 2 and names the option") {
  const std::vector<std::vector<std::string>> wrong{{"--d", "0"},
                                                    {"--d", "50,50"},
                                                    {"--d", "1000000", "--alpha", "1000"},
                                                    {"--alpha", "1e-9"},
                                                    {"--tokens", "1"},
                                                    {"--rank", "0"},
                                                    {"--learning-rate", "0", "--optimizer", "gd"},
                                                    {"--learning-rate", "0.1"},
                                                    {"--optimizer", "newton"},
                                                    {"--init", "semantic,elsewhere"},
                                                    {"--instances", "0"},
                                                    {"--damping", "0.5"},
                                                    {"--damping", "0.5", "--optimizer", "gd"},
                                                    {"--amp-response", "total"},
                                                    {"--amp-response", "some", "--optimizer", "amp"},
                                                    {"--response", "--tokens", "3"},
                                                    {"--response", "--optimizer", "amp"},
                                                    {"--teacher-matrix", "0.5,0.4,0.5,0.5"},
                                                    {"--positional-matrix", "1,2,3"}};
  for (const auto& words : wrong) {
    CAPTURE(words[0]);
    const Outcome o = simulate(words);
    CHECK(o.code == 2);
    CHECK(o.out.empty());
    CHECK(o.err.find(words[0]) != std::string::npos);
  }
  CHECK(simulate({"--d", "1000000", "--alpha", "1000"}).err.find("GB") != std::string::npos);
  CHECK(simulate({"--optimizer", "amp", "--tokens", "3"}).code == 2);
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("theory against simulation, extrapolated in 1/d up to d = 2000") {
  struct Place {
    std::string branch, alpha, omega;
  };
  // Semantic: alpha above alpha_l = 1.117, 1.492 and 2.278 at omega = .2, .3 and .4; positional: omega >= .3.
  for (const Place& at : {Place{"semantic", "1.5", "0.2"},
                          {"semantic", "2", "0.3"},
                          {"semantic", "3", "0.3"},
                          {"semantic", "2.5", "0.4"},
                          {"positional", "2", "0.3"},
                          {"positional", "1.5", "0.4"}}) {
    CAPTURE(at.branch);
    CAPTURE(at.alpha);
    CAPTURE(at.omega);
    const Outcome o = simulate({"--d", "500,1000,2000", "--instances", "12", "--alpha", at.alpha, "--omega",
                                at.omega, "--init", at.branch, "--quiet"});
    REQUIRE(o.code == 0);
    const Json line = Json::parse(o.out)["summary"]["extrapolation"][0];
    std::ostringstream out, err;
    REQUIRE(qksolve::app::run_program({"qksolve", "phase", "solve", "--alpha", at.alpha, "--omega", at.omega,
                                       "--branch", at.branch, "--tolerance", "1e-3", "--quiet"},
                                      out, err) == 0);
    const Json theory = Json::parse(out.str())["records"][0];
    for (const std::string quantity : {"train_loss", "gen_error"}) {
      CAPTURE(quantity);
      const double difference = line.at(quantity).get<double>() - theory.at(quantity).get<double>();
      const double error = std::hypot(line.at(quantity + "_error").get<double>(),
                                      theory.at(quantity + "_error").get<double>());
      MESSAGE(at.branch << " alpha " << at.alpha << " omega " << at.omega << " " << quantity << ": "
                        << difference / error << " sigmas, error " << error);
      CHECK(std::abs(difference) < 4 * error);
    }
  }
}

TEST_SUITE_END();
