// qksolve coupled solve: records, exit codes, what is refused.
#include <doctest/doctest.h>

#include <cmath>

#include "run.hpp"

using namespace qksolve::test;

namespace {

const std::string kSmall = "coupled solve --head-dimension 4 --hidden 8 --draws 2 --states 2 --quiet ";

}  // namespace

TEST_CASE("coupled solve writes one record per quantity and decides by the exact ones") {
  const Run r = run(kSmall + "--coupling mlp,gradient,linear,harmonic --coupling-steps 1,3 --context 16,8");
  REQUIRE(r.code == 0);
  CHECK(r.err.empty());
  const auto json = r.json();
  CHECK(json["schema"] == "qksolve.coupled.solve/1");
  CHECK(json["parameters"]["context"] == nlohmann::json({16, 8}));
  // 5 integrators, 4 couplings, 2 numbers of steps, 2 contexts with 10 quantities.
  std::size_t attention = 0, exact = 0;
  for (const auto& record : json["records"]) {
    CAPTURE(record.dump());
    for (const std::string key : {"integrator", "coupling", "step_size", "coupling_steps", "quantity", "kind",
                                  "status", "measured", "measured_error"})
      CHECK(record.contains(key));
    CHECK(record["status"] == "converged");
    if (record.contains("context")) ++attention;
    if (record["kind"] != "exact") continue;
    ++exact;
    CHECK(!record.contains("context"));
    CHECK(record["difference"].get<double>() ==
          record["measured"].get<double>() - record["predicted"].get<double>());
    CHECK(std::abs(record["difference"].get<double>()) <= record["difference_error"].get<double>());
  }
  CHECK(attention == 5 * 4 * 2 * 2 * 10);
  CHECK(json["summary"]["exact_statements"] == exact);
  CHECK(json["summary"]["exact_statements_that_hold"] == exact);
}

TEST_CASE("coupled solve gives the same bytes for any number of threads, and from its own result") {
  TemporaryFile first("coupled.json");
  REQUIRE(run(kSmall + "--context 12 --threads 1 -o " + first.path).code == 0);
  auto expected = nlohmann::ordered_json::parse(first.content());
  expected.erase("provenance");
  for (const std::string& line :
       {kSmall + "--context 12 --threads 3", "coupled solve --quiet --config " + first.path}) {
    auto found = run(line).json();
    found.erase("provenance");
    CHECK(expected.dump() == found.dump());
  }
  TemporaryFile none("none.json");
  REQUIRE(run(kSmall + "--context none -o " + none.path).code == 0);
  CHECK(run("coupled solve --quiet --config " + none.path).code == 0);
}

TEST_CASE("an unstable step runs and says so") {
  const std::string line =
      "coupled solve --head-dimension 4 --draws 2 --context none --coupling harmonic --frequency 2 "
      "--integrator leapfrog --step-size 0.9,1.25 --coupling-steps 4";
  const Run r = run(line);
  CHECK(r.code == 0);
  CHECK(r.says("leapfrog is unstable at h w = 2.5"));
  const auto json = r.json();
  for (const auto& record : json["records"])
    CHECK(record["stable"] == (record["step_size"].get<double>() < 1));
}

TEST_CASE("a run that overflows is not converged, and prints neither nan nor null") {
  const Run r =
      run("coupled solve --head-dimension 4 --draws 2 --context 4 --coupling linear --integrator euler "
          "--step-size 1000 --coupling-steps 400 --quiet");
  CHECK(r.code == 3);
  CHECK(r.out.find(": null") == std::string::npos);
  CHECK(r.out.find(": nan") == std::string::npos);
  CHECK(r.out.find("non_finite") != std::string::npos);
}

TEST_CASE("only exact statements decide, and an order is not taken from rounding errors") {
  const std::string line = "coupled solve --context none --quiet --head-dimension 8 --hidden 8 --draws 2 ";
  // Without force the energy does not change at all; with a weak one its change drowns in rounding errors.
  for (const std::string weak :
       {"--coupling gradient --initial-scale 0", "--coupling gradient --initial-scale 0.01 --step-size 0.01",
        "--coupling harmonic --frequency 1e-6"}) {
    CAPTURE(weak);
    const Run r = run(line + weak);
    CHECK(r.code == 0);
    std::size_t orders = 0;
    const auto json = r.json();
    for (const auto& record : json["records"]) {
      if (record["quantity"] != "energy_order") {
        CHECK(record["status"] == "converged");
        continue;
      }
      // Where it is measured it is right.
      if (record["status"] == "converged") {
        CHECK(std::abs(record["difference"].get<double>()) <=
              4 * record["difference_error"].get<double>() + 0.05);
        continue;
      }
      ++orders;
      CHECK(record["reason"] == "the change of the energy is not above its rounding errors");
      CHECK(record["predicted"].get<double>() >= 1);
      for (const std::string key : {"measured", "measured_error", "difference", "difference_error"})
        CHECK(!record.contains(key));
    }
    CHECK(orders > 0);
  }
}

TEST_CASE("a ratio to a singular value that is nothing but rounding is not reported") {
  TemporaryFile zero("zero_projections.json", R"({"query": [[0, 0], [0, 0]], "key": [[1, 0], [0, 1]]})");
  const Run r = run(
      "coupled solve --head-dimension 2 --draws 2 --context 8 --integrator standard --quiet --projections " +
      zero.path);
  CHECK(r.code == 0);
  const auto json = r.json();
  for (const auto& record : json["records"]) {
    CHECK(record.contains("measured") == (record["quantity"] != "sigma_ratio"));
    if (record["quantity"] == "sigma_ratio")
      CHECK(record["reason"] == "the second singular value is not above its rounding errors");
  }
}

TEST_CASE("coupled solve with projections, and what it refuses of them") {
  const std::string line = "coupled solve --head-dimension 2 --draws 2 --context 8 --quiet --projections ";
  TemporaryFile good("projections.json",
                     R"({"query": [[1, 0], [0, 1], [0, 0]], "key": [[0, 1], [1, 0], [0, 0]]})");
  CHECK(run(line + good.path).code == 0);
  CHECK(run(line + "nowhere.json").code == 4);
  const std::pair<const char*, const char*> bad[] = {
      {R"({"query": [[1, 0], [0, 1]], "key": [[1, 0]]})", "2 rows and key 1"},
      {R"({"query": [[1, 0], [0]], "key": [[1, 0], [0, 1]]})", "row 2"},
      {R"({"query": [[1, 0, 0]], "key": [[1, 0]]})", "rows of 2 numbers (--head-dimension)"},
      {R"({"query": [[1, "a"]], "key": [[1, 0]]})", "'query'"},
      {R"({"query": [[1, 0]]})", "'key'"},
      {R"({"query": [], "key": []})", "'query'"},
      {"[1, 2]", "JSON object"},
      {"{", "line 1 is not valid JSON"}};
  for (const auto& [content, named] : bad) {
    TemporaryFile file("bad_projections.json", content);
    const Run r = run(line + file.path);
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK(r.one_line());
    CHECK(r.says("--projections"));
    CHECK(r.says(named));
  }
}

TEST_CASE("coupled solve refuses bad input") {
  const std::vector<std::vector<std::string>> cases = {
      {"--draws 0", "--draws", "'0'", "2 to"},
      {"--context 1", "--context", "'1'", "2 to 16384"},
      {"--context 64,64", "--context", "once"},
      {"--context 64,", "--context", "''"},
      {"--coupling gravity", "--coupling", "'gravity'", "mlp"},
      {"--integrator rk4", "--integrator", "'rk4'", "leapfrog"},
      {"--step-size -0.1", "--step-size", "'-0.1'", "[0, 1000]"},
      {"--step-size nan", "--step-size", "'nan'"},
      {"--coupling-steps 0", "--coupling-steps", "'0'", "1 to"},
      {"--coupling-steps 1e3", "--coupling-steps", "'1e3'"},
      {"--head-dimension 0", "--head-dimension", "'0'"},
      {"--hidden 0", "--hidden", "'0'"},
      {"--frequency 0", "--frequency", "'0'"},
      {"--states 0", "--states", "'0'"},
      {"--initial-scale inf", "--initial-scale", "'inf'"}};
  for (const auto& words : cases) {
    const Run r = run("coupled solve " + words[0]);
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK(r.one_line());
    CHECK(r.out.empty());
    for (std::size_t i = 1; i < words.size(); ++i) CHECK(r.says(words[i]));
  }
  CHECK(run("coupled").code == 2);
}

TEST_CASE(
    "--projections: repeated and unknown keys are refused with their line, a missing file with its reason") {
  const std::string rows = "[[1, 0], [0, 1]]";
  const TemporaryFile twice("twice.json",
                            "{\"query\": " + rows + ",\n\"key\": " + rows + ",\n\"key\": " + rows + "}"),
      unknown("unknown.json", "{\"query\": " + rows + ", \"key\": " + rows + ",\n\"value\": 1}");
  const std::string command = "coupled solve --head-dimension 2 --projections ";
  CHECK(run(command + twice.path).says("line 3: the key 'key' is given twice"));
  CHECK(run(command + unknown.path).says("line 2: unknown key 'value', expected one of query, key"));
  for (const TemporaryFile* file : {&twice, &unknown}) CHECK(run(command + file->path).code == 2);
  const Run missing = run(command + "nofile.json");
  CHECK(missing.code == 4);
  CHECK(missing.says("cannot read 'nofile.json': No such file"));
}
