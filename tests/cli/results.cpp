// What commands write: records, exit codes, bytes.
#include <doctest/doctest.h>

#include <filesystem>

#include "run.hpp"

using namespace qksolve::test;
using nlohmann::ordered_json;

namespace {

std::string without_provenance(const std::string& text) {
  ordered_json json = ordered_json::parse(text);
  json.erase("provenance");
  return json.dump();
}

// No null anywhere: a quantity that is not known is absent.
bool has_null(const ordered_json& json) {
  if (json.is_null()) return true;
  if (!json.is_structured()) return false;
  for (const auto& item : json)
    if (has_null(item)) return true;
  return false;
}

}  // namespace

TEST_CASE("phase solve: a record per branch, flat, with errors and what identifies the run") {
  const Run r = run("phase solve --tolerance 1e-3");
  REQUIRE(r.code == 0);
  const ordered_json json = r.json();
  CHECK(json["schema"] == "qksolve.phase.solve/1");
  CHECK_FALSE(has_null(json));
  REQUIRE(json["records"].size() == 3);
  int minima = 0;
  for (const auto& record : json["records"]) {
    for (const std::string key :
         {"alpha", "omega", "branch", "status", "residual", "map_evaluations", "jump_mass", "global_minimum",
          "jacobian_spectral_radius", "stable_theta", "stable_m", "gen_error_linear"})
      CHECK(record.contains(key));
    for (const std::string key : {"q", "m", "theta", "V", "train_loss", "gen_error"}) {
      CHECK(record.contains(key));
      CHECK(record[key + "_error"].get<double>() <= 1e-3 * record[key].get<double>());
    }
    for (const auto& item : record) CHECK_FALSE(item.is_structured());
    minima += record["global_minimum"].get<bool>() ? 1 : 0;
  }
  CHECK(minima == 1);
  CHECK(json["records"][0]["global_minimum"] == true);
  CHECK(json["records"][0]["m"] == 0.0);
  CHECK(json["records"][0]["m_error"] == 0.0);
  for (const std::string key : {"version", "git_commit", "compiler", "libraries", "argv", "seed", "threads",
                                "started", "wall_seconds"})
    CHECK(json["provenance"].contains(key));
  CHECK(r.says("semantic"));
  CHECK(r.says("global minimum"));
  CHECK(run("phase solve --tolerance 1e-2 --quiet").err.empty());
}

TEST_CASE("too few iterations: the record says so, the file is written, exit 3") {
  TemporaryFile file("limit.json");
  const Run r = run("phase solve --max-iterations 1 --quiet -o " + file.path);
  CHECK(r.code == 3);
  const ordered_json json = ordered_json::parse(file.content());
  for (const auto& record : json["records"]) {
    CHECK(record["status"] == "iteration_limit");
    CHECK(record.contains("reason"));
    CHECK_FALSE(record.contains("q_error"));
    CHECK_FALSE(record.contains("global_minimum"));
  }
}

TEST_CASE("an unstable damping weight ends as iteration_limit") {
  const Run r =
      run("phase solve --branch positional --damping .5 --max-iterations 150 --tolerance 1e-3 --quiet");
  CHECK(r.code == 3);
  CHECK(r.json()["records"][0]["status"] == "iteration_limit");
  CHECK(r.json()["parameters"]["iteration"] == "damped");
}

TEST_CASE("a branch that is absent: exit 3 by name, exit 0 under all, no numbers under its name") {
  const std::string point = "phase solve --alpha 1.5 --omega .1 --tolerance 1e-2 --quiet --branch ";
  const Run named = run(point + "positional");
  CHECK(named.code == 3);
  const auto record = named.json()["records"][0];
  CHECK(record["status"] == "branch_changed");
  CHECK(record["branch_found"] == "uninformed");
  CHECK_FALSE(record.contains("m"));
  const Run all = run(point + "all");
  CHECK(all.code == 0);
  CHECK(all.json()["records"][0]["global_minimum"] == true);
}

TEST_CASE("a start close to the fixed point is used, the trace shows the way") {
  const Run r =
      run("phase solve --branch semantic --tolerance 1e-3 --start .1148,0,.1582,12.67 --trace --quiet");
  REQUIRE(r.code == 0);
  const ordered_json json = r.json();
  REQUIRE(json["trace"].size() > 2);
  CHECK(json["trace"][0]["q"].get<double>() == doctest::Approx(0.1148).epsilon(1e-12));
  CHECK(json["trace"][0]["residual"].get<double>() < 0.05);
  CHECK(json["parameters"]["start"] == ordered_json({0.1148, 0.0, 0.1582, 12.67}));
  CHECK_FALSE(run("phase solve --branch semantic --tolerance 1e-2 --quiet").json().contains("trace"));
}

TEST_CASE("the same bytes for 1, 2 and 3 threads, and under a locale with decimal commas") {
  const std::string arguments = " phase solve --alpha 0.5:1:2 --tolerance 1e-2 --quiet -o ";
  const std::string binary = QKSOLVE_BINARY;
  TemporaryFile one("one.json"), two("two.json"), three("three.json"), comma("comma.json");
  REQUIRE(shell("LC_ALL=C " + binary + arguments + one.path + " --threads 1") == 0);
  REQUIRE(shell("LC_ALL=C " + binary + arguments + two.path + " --threads 2") == 0);
  REQUIRE(shell("LC_ALL=C " + binary + arguments + three.path + " --threads 3") == 0);
  const std::string expected = without_provenance(one.content());
  CHECK(without_provenance(two.content()) == expected);
  CHECK(without_provenance(three.content()) == expected);

  // The locale is generated here, so that the test does not depend on what the machine has.
  const std::string directory = std::filesystem::current_path() / "test_locale";
  std::filesystem::create_directory(directory);
  REQUIRE(shell("localedef -i de_DE -f UTF-8 " + directory + "/de_DE.UTF-8 2>/dev/null") <= 1);
  const std::string environment = "LOCPATH=" + directory + " LC_ALL=de_DE.UTF-8 ";
  REQUIRE(shell(environment + "sh -c '[ \"$(locale decimal_point)\" = , ]'") == 0);
  CHECK(shell(environment + binary + arguments + comma.path + " --threads 2") == 0);
  CHECK(without_provenance(comma.content()) == expected);
  std::filesystem::remove_all(directory);
}

// Timed by the clock of the machine: not for the sanitizer build, which is many times slower.
TEST_CASE("an interrupted run writes what is finished and exits with 130" * doctest::test_suite("slow")) {
  TemporaryFile file("interrupted.json");
  const std::string command = std::string("sh -c '") + QKSOLVE_BINARY +
                              " phase solve --alpha 0.3:4:4000 --tolerance 1e-3 --quiet -o " + file.path +
                              " & pid=$!; sleep 3; kill -INT $pid; wait $pid'";
  // A shell starts background processes with SIGINT ignored; the program's handler overrides that.
  CHECK(shell(command) == 130);
  const ordered_json json = ordered_json::parse(file.content());
  CHECK(json["records"].size() >= 1);
  CHECK(json["records"].size() < 4000 * 3);
}

TEST_CASE("phase critical: alpha_c and alpha_l with their errors, and no invented numbers") {
  const Run r = run("phase critical --omega .3 --tolerance 2e-3 --quiet");
  REQUIRE(r.code == 0);
  const ordered_json json = r.json();
  REQUIRE(json["records"].size() == 2);
  // Theory note: alpha_c(.3) = 1.2515(3), alpha_l(.3) = 1.492.
  const auto &c = json["records"][0], &l = json["records"][1];
  CHECK(std::abs(c["value"].get<double>() - 1.2515) <= c["value_error"].get<double>() + 3e-4);
  CHECK(std::abs(l["value"].get<double>() - 1.492) <= l["value_error"].get<double>() + 1e-3);
  CHECK(c["value_error"].get<double>() <= 2e-3 * 1.3);

  const Run none = run("phase critical --omega .3 --which alpha_c --alpha-range 1.6:3 --quiet");
  CHECK(none.code == 3);
  const auto record = none.json()["records"][0];
  CHECK(record["status"] == "no_bracket");
  CHECK_FALSE(record.contains("value"));
  CHECK(record["bracket_low"] == 1.6);
  CHECK(record["difference_low"].get<double>() < 0);
  CHECK(record["difference_high"].get<double>() < record["difference_low"].get<double>());
}
