// Runs that are interrupted: what is left, what is said, and how what they wrote is read.
#include <doctest/doctest.h>

#include <filesystem>

#include "run.hpp"

using namespace qksolve::test;
using nlohmann::ordered_json;

namespace {

// Interrupts after some seconds; what the program says is in `said`.
int interrupted(const std::string& arguments, const std::string& seconds, const TemporaryFile& said) {
  return shell("timeout --preserve-status -s INT " + seconds + " " + std::string(QKSOLVE_BINARY) + " " +
               arguments + " 2>" + said.path);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t temporary_files() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("."))
    count += contains(entry.path().filename(), ".tmp.") ? 1 : 0;
  return count;
}

// Does not end by itself.
const std::string kEndless =
    "flow simulate --classes 4 --pool 1 --common 6 --common-per-sequence 6 --distinct-per-sequence 1 --d 12 "
    "--parameterization CACO --steps 1000000000 --times 1 ";

const std::string kPartial = R"({"schema": "qksolve.phase.solve/1", "complete": false,
  "missing": ["alpha 2, omega 0.3"],
  "parameters": {"sigma": 0.5, "lambda": 0.01, "teacher_matrix": [0.6, 0.4, 0.4, 0.6], "alpha": [1, 2],
                 "omega": [0.3], "branch": "uninformed", "tolerance": 0.01},
  "records": [{"alpha": 1, "omega": 0.3, "branch": "semantic", "status": "converged", "theta": 0.1,
               "train_loss": 0.002, "train_loss_error": 1e-5, "gen_error": 0.003, "gen_error_error": 1e-5}],
  "summary": {}})";

}  // namespace

TEST_CASE("interrupted before anything is finished: no file is touched, none is left, and it is said") {
  const TemporaryFile json("old.json", "old result"), csv("old.csv", "old table"), said("said.txt");
  CHECK(interrupted(kEndless + "-o " + json.path + " --csv " + csv.path, "1", said) == 130);
  CHECK(json.content() == "old result");
  CHECK(csv.content() == "old table");
  CHECK(temporary_files() == 0);
  CHECK(contains(said.content(), "nothing is written"));
}

TEST_CASE("an interrupted result says at its top what is missing" * doctest::test_suite("slow")) {
  const TemporaryFile json("partial.json"), said("said.txt");
  for (const std::string command :
       {"phase solve --alpha 0.3:4:4000 --tolerance 1e-2", "flow solve --ratio 0.01:100:20000 --t-max 1e6",
        "phase simulate --d 60 --alpha 2 --omega 0.3 --instances 5000",
        "phase critical --which alpha_c --tolerance 0.1 --omega 0.25:0.35:2000",
        "coupled solve --integrator euler --step-size 0.1:0.9:800 --context 8,16 --draws 2 --states 2"}) {
    CAPTURE(command);
    CHECK(interrupted(command + " --progress never -o " + json.path, "8", said) == 130);
    const ordered_json result = ordered_json::parse(json.content());
    CHECK(result["complete"] == false);
    CHECK(result["missing"].size() > 0);
    CHECK(result["records"].size() > 0);
    CHECK(contains(said.content(),
                   "interrupted, " + std::to_string(result["missing"].size()) + " parts are missing"));
    std::filesystem::remove(json.path);
  }
}

TEST_CASE("an interrupted sweep says what is done, where, and how to go on; or that nothing is kept" *
          doctest::test_suite("slow")) {
  const std::string sweep =
      "phase sweep --alpha 1,2 --omega 0:0.5:2000 --tolerance 1e-2 --threads 1 --progress never ";
  const TemporaryFile work("sweep.jsonl"), out("sweep.json"), said("said.txt");
  CHECK(interrupted(sweep + "--resume " + work.path + " -o " + out.path, "3", said) == 130);
  CHECK(contains(said.content(), "of 6000 tasks are finished, in the work file '" + work.path + "'"));
  CHECK(contains(said.content(), "the same command goes on"));
  CHECK(out.content().empty());
  CHECK(interrupted(sweep + ">" + out.path, "3", said) == 130);
  CHECK(contains(said.content(), "begins anew"));
  const ordered_json result = ordered_json::parse(out.content());
  CHECK(result["complete"] == false);
  CHECK(result["missing"].size() + result["records"].size() / 2 == 6000);
}

TEST_CASE("readers name what an interrupted result lacks; combine refuses it") {
  const TemporaryFile partial("partial.json", kPartial), figure("partial.svg"), out("compared.json");
  const std::string lack = partial.path + ": an interrupted run, 1 part is missing: alpha 2, omega 0.3";
  const Run compared = run("compare " + partial.path + " " + partial.path + " --quiet -o " + out.path);
  CHECK(compared.says(lack));
  CHECK((compared.code == 0 || compared.code == 3));
  const Run plotted = run("plot " + partial.path + " -o " + figure.path);
  CHECK(plotted.code == 0);
  CHECK(plotted.says(lack));
  const Run repeated = run("phase solve --config " + partial.path + " --quiet -o " + out.path);
  CHECK(repeated.code == 0);
  CHECK(repeated.says(lack));
  CHECK_FALSE(contains(out.content(), "\"complete\""));

  std::string simulation = kPartial;
  simulation.replace(simulation.find("phase.solve"), 11, "phase.simulate");
  const TemporaryFile cut("cut.json", simulation);
  const Run combined = run("combine " + cut.path + " " + cut.path);
  CHECK(combined.code == 2);
  CHECK(combined.one_line());
  CHECK(combined.says(cut.path + ": an interrupted run, 1 part is missing"));
}

TEST_CASE("a CSV that cannot be written does not cost the JSON, nor the other way round") {
  const std::string solve = "phase solve --branch uninformed --tolerance 1e-2 --quiet ";
  const TemporaryFile json("kept.json"), csv("kept.csv");
  const Run full = run(solve + "-o " + json.path + " --csv /dev/full");
  CHECK(full.code == 4);
  CHECK(full.says("/dev/full"));
  CHECK(ordered_json::parse(json.content()).contains("records"));
  CHECK(run(solve + "-o /dev/full --csv " + csv.path).code == 4);
  CHECK(contains(csv.content(), "uninformed"));
}
