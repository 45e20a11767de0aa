// Every file that the program writes validates against the schema of its kind, and the schemas are strict.
#include <doctest/doctest.h>

#include <filesystem>

#include "run.hpp"

using namespace qksolve::test;
using nlohmann::ordered_json;

namespace {

const std::vector<std::string> kNames{"compare",        "coupled.solve", "coupled.train", "deep.critical",
                                      "flow.simulate",  "flow.solve",    "flow.train",    "phase.critical",
                                      "phase.simulate", "phase.solve",   "phase.sweep"};

// Whether a result validates against the schema that its own key `schema` names.
bool valid(const ordered_json& result) {
  const std::string id = result["schema"];
  const std::string name = id.substr(8, id.rfind('/') - 8);
  TemporaryFile schema("schema.json", run("schema " + name).out), file("result.json", result.dump());
  const int code = shell(std::string(QKSOLVE_VALIDATE) + " " + schema.path + " " + file.path);
  REQUIRE(code >= 0);
  REQUIRE(code <= 1);
  return code == 0;
}

bool refused(ordered_json result, const std::function<void(ordered_json&)>& change) {
  change(result);
  const std::string id = result["schema"];
  TemporaryFile schema("schema.json", run("schema " + id.substr(8, id.rfind('/') - 8)).out),
      file("changed.json", result.dump());
  return shell(std::string(QKSOLVE_VALIDATE) + " " + schema.path + " " + file.path + " > /dev/null") == 1;
}

}  // namespace

TEST_CASE("schema: every kind has one; an unknown name gets the list") {
  for (const std::string& name : kNames) {
    const Run r = run("schema " + name);
    CHECK(r.code == 0);
    CHECK(r.err.empty());
    CHECK(r.json()["properties"]["schema"]["const"] == "qksolve." + name + "/1");
    TemporaryFile schema("schema.json", r.out);
    CHECK(shell(std::string(QKSOLVE_VALIDATE) + " " + schema.path) == 0);  // is a schema itself
  }
  for (const std::string name : {"phase", "common", "phase.solve/1"}) {
    const Run r = run("schema " + name);
    CHECK(r.code == 2);
    CHECK(r.one_line());
    CHECK(r.says("'" + name + "'"));
    for (const std::string& known : kNames) CHECK(r.says(known));
  }
  CHECK(run("schema").code == 2);
}

TEST_CASE("what the commands write is valid") {
  const std::string flow =
      " --classes 4 --pool 1 --common 6 --common-per-sequence 6 --distinct-per-sequence 1";
  for (const std::string& line : std::vector<std::string>{
           "phase solve --tolerance 1e-2 --trace",
           "phase solve --max-iterations 1",
           "phase solve --alpha 1.5 --omega .1 --tolerance 1e-2",
           "phase solve --branch semantic --tolerance 1e-2 --start .1148,0,.1582,12.67",
           "phase solve --tokens 3 --sigma .5,.4,.6 --branch semantic --tolerance 5e-2",
           "phase simulate --d 30 --rank 2 --init mixed --test-samples 100",
           "phase critical --omega .3 --which alpha_c --tolerance 0.1",
           "phase critical --omega .3 --which alpha_c --alpha-range 1.6:3 --tolerance 0.05",
           "phase simulate --d 20,40 --instances 3 --test-samples 100",
           "phase simulate --d 30 --optimizer gd --steps 3 --test-samples 100 --trajectory",
           "phase simulate --d 30 --optimizer gd --steps 50 --learning-rate 1e6 --test-samples 100",
           "phase simulate --d 30 --tokens 3 --rank 2 --teacher-rank 2 --test-samples 100 --init random",
           "phase simulate --d 60 --instances 2 --optimizer amp --steps 4 --trajectory --test-samples 100",
           "phase simulate --d 60 --response --test-samples 100",
           "phase sweep --alpha 1:2:3 --omega .3,.4 --tolerance 1e-2",
           "coupled solve --coupling mlp,harmonic --step-size .1,2.5 --context 8,16 --head-dimension 4 "
           "--states 8",
           "flow solve --parameterization all --ratio 0.01,100 --t-max 1e10",
           "flow solve --eta-qk 2 --at-loss 1,1e-3 --t-max 1e3",
           "flow train --task annotated --ratio 0,0.1,1 --seeds 2 --data " +
               std::string(QKSOLVE_REFERENCE_DIR) + "/annotated/annotated.jsonl",
           "flow train --task annotated --loss-target 1e-9 --max-epochs 1 --data " +
               std::string(QKSOLVE_REFERENCE_DIR) + "/annotated/annotated.jsonl",
           "flow simulate --d 12 --steps 30 --test-sequences 20" + flow,
           "flow simulate --d 12 --steps 30 --optimizer sgd --init random --parameterization all" + flow}) {
    CAPTURE(line);
    const Run r = run(line + " --quiet");
    CHECK((r.code == 0 || r.code == 3));
    CHECK(valid(r.json()));
  }
}

TEST_CASE("a result at rank two is valid" * doctest::test_suite("slow")) {
  CHECK(valid(run("phase solve --rank 2 --branch mixed --tolerance 5e-2 --quiet").json()));
}

TEST_CASE("a limit of existence is valid" * doctest::test_suite("slow")) {
  const Run r = run(
      "phase critical --omega .1 --which positional_exists --alpha-range 1.2:1.4 --tolerance 0.1 --quiet");
  CHECK((r.code == 0 || r.code == 3));
  CHECK(r.json()["records"][0].contains("limit"));
  CHECK(valid(r.json()));
}

TEST_CASE("comparisons and the files of the repository are valid") {
  TemporaryFile theory("theory.json"), simulation("simulation.json"), comparison("comparison.json");
  REQUIRE(run("phase solve --tolerance 1e-2 --quiet -o " + theory.path).code == 0);
  REQUIRE(
      run("phase simulate --d 40,80 --instances 4 --test-samples 100 --quiet -o " + simulation.path).code ==
      0);
  CHECK(run("compare " + theory.path + " " + simulation.path + " --quiet -o " + comparison.path).code != 2);
  CHECK(valid(ordered_json::parse(comparison.content())));
  int count = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(QKSOLVE_REFERENCE_DIR) + "/../../results")) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path());
    std::ifstream file(entry.path());
    CHECK(valid(ordered_json::parse(file)));
    ++count;
  }
  CHECK(count > 10);
}

TEST_CASE("the schemas are strict") {
  ordered_json good = run("phase solve --tolerance 1e-2 --quiet").json();
  REQUIRE(valid(good));
  const std::vector<std::pair<std::string, std::function<void(ordered_json&)>>> changes{
      {"key that is not known", [](auto& j) { j["records"][0]["bogus"] = 1; }},
      {"error that is not known", [](auto& j) { j["records"][0]["bogus_error"] = 1; }},
      {"negative error", [](auto& j) { j["records"][0]["q_error"] = -1e-9; }},
      {"null", [](auto& j) { j["records"][0]["q"] = nullptr; }},
      {"text for a number", [](auto& j) { j["records"][0]["q"] = "1"; }},
      {"nested",
       [](auto& j) {
         j["records"][0]["q"] = {1, 2};
       }},
      {"status that is not known", [](auto& j) { j["records"][0]["status"] = "fine"; }},
      {"no reason", [](auto& j) { j["records"][0]["status"] = "failed"; }},
      {"reason of a converged record", [](auto& j) { j["records"][0]["reason"] = "none"; }},
      {"converged without a loss", [](auto& j) { j["records"][0].erase("train_loss"); }},
      {"converged without an error", [](auto& j) { j["records"][0].erase("gen_error_error"); }},
      {"no provenance", [](auto& j) { j.erase("provenance"); }},
      {"no time", [](auto& j) { j["provenance"].erase("wall_seconds"); }},
      {"another kind", [](auto& j) { j["schema"] = "qksolve.phase.critical/1"; }},
      {"further key", [](auto& j) { j["comment"] = ""; }},
      {"alpha of zero", [](auto& j) { j["records"][0]["alpha"] = 0; }},
      {"omega beyond 1", [](auto& j) { j["parameters"]["omega"][0] = 1.5; }}};
  for (const auto& [name, change] : changes) {
    CAPTURE(name);
    CHECK(refused(good, change));
  }
}

TEST_CASE("--csv: the records, as in the JSON") {
  TemporaryFile csv("records.csv");
  const Run r = run("phase solve --alpha 1.5 --omega .1 --tolerance 1e-2 --quiet --csv " + csv.path);
  REQUIRE(r.code == 0);
  // Read by another program, and compared number by number.
  TemporaryFile json("records.json", r.out);
  CHECK(shell("/usr/bin/python3 -c \"import csv, json; "
              "rows = list(csv.DictReader(open('" +
              csv.path +
              "', newline=''))); "
              "records = json.load(open('" +
              json.path +
              "'))['records']; "
              "assert len(rows) == len(records) == 3; "
              "assert all(set(k for k in row if row[k] != '') == set(record) for row, record in zip(rows, "
              "records)); "
              "assert all(float(row[k]) == v for row, record in zip(rows, records) "
              "for k, v in record.items() if type(v) in (int, float))\"") == 0);
  CHECK(csv.content().find("alpha,omega,branch,status") == 0);
  CHECK_FALSE(r.json()["parameters"].contains("csv"));

  TemporaryFile a("a.json");
  const Run same = run("phase solve -o " + a.path + " --csv ./" + a.path);
  CHECK(same.code == 2);
  CHECK(same.says("--csv"));
  const Run nowhere = run("phase solve --tolerance 1e-7 --alpha 0.01:5:1000 --csv /nonexistent/x.csv");
  CHECK(nowhere.code == 4);
  CHECK(nowhere.says("/nonexistent/x.csv"));
}
