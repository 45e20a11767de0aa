// phase sweep and combine: the same bytes whatever way the tasks were done.
#include <doctest/doctest.h>

#include <filesystem>
#include <random>

#include "run.hpp"

using namespace qksolve::test;
using nlohmann::ordered_json;

namespace {

const std::string kSweep = "phase sweep --alpha 1:2:3 --omega 0.3,0.4 --tolerance 1e-2";

ordered_json load(const std::string& path) {
  std::ifstream file(path);
  return ordered_json::parse(file);
}

std::string without_provenance(ordered_json json) {
  json.erase("provenance");
  return json.dump();
}

const ordered_json& reference() {
  static const ordered_json json = run(kSweep + " --quiet --threads 1").json();
  return json;
}

}  // namespace

TEST_CASE("phase sweep: records by omega, alpha and branch, thresholds beside them") {
  const ordered_json& json = reference();
  CHECK(json["schema"] == "qksolve.phase.sweep/1");
  REQUIRE(json["records"].size() == 18);
  CHECK(json["records"][4]["alpha"] == 1.5);
  CHECK(json["records"][4]["branch"] == "positional");
  CHECK(json["records"][9]["omega"] == 0.4);
  int regions = 0;
  for (const auto& r : json["records"]) {
    regions += r.contains("region") ? 1 : 0;
    if (r.contains("region"))
      CHECK(r["region"] ==
            (r["alpha"].get<double>() < (r["omega"] == 0.3 ? 1.25 : 1.77) ? "positional" : "semantic"));
  }
  CHECK(regions >= 5);
  // The precise values: 1.2515(6) and 1.7713(18), found by phase critical.
  const auto& lines = json["summary"]["lines"];
  REQUIRE(lines.size() == 4);
  for (const auto& [row, value] : {std::pair(0, 1.2515), std::pair(2, 1.7713)}) {
    CHECK(lines[row]["which"] == "alpha_c");
    REQUIRE(lines[row]["status"] == "converged");
    CHECK(std::abs(lines[row]["value"].get<double>() - value) <
          lines[row]["value_error"].get<double>() + 0.002);
    CHECK(lines[row]["value_error"].get<double>() < 0.26);  // three points: half of the cell
  }
}

TEST_CASE("a sweep of some branches has the whole one's records of them, and repeats from its result") {
  const TemporaryFile some("some.json");
  REQUIRE(run(kSweep + " --quiet --branch positional,semantic -o " + some.path).code == 0);
  const ordered_json json = load(some.path);
  CHECK(json["parameters"]["branch"] == nlohmann::json({"semantic", "positional"}));
  ordered_json expected = ordered_json::array(), found = json["records"];
  for (const ordered_json& r : reference()["records"])
    if (r["branch"] != "uninformed") expected.push_back(r);
  // What only all branches together decide is left out.
  for (ordered_json& r : expected)
    for (const char* key : {"global_minimum", "region"}) r.erase(key);
  CHECK(found == expected);
  CHECK(json["summary"]["lines"].empty());
  CHECK(without_provenance(run("phase sweep --quiet --config " + some.path).json()) ==
        without_provenance(json));
}

TEST_CASE("threads, a work file, shards and their combination give the bytes of the serial run") {
  const std::string expected = without_provenance(reference());
  CHECK(without_provenance(run(kSweep + " --quiet --threads 3").json()) == expected);
  const TemporaryFile a("a.jsonl"), b("b.jsonl"), whole("whole.json");
  CHECK(run(kSweep + " --quiet --shard 1/2 --resume " + a.path).code == 0);
  CHECK(run(kSweep + " --quiet --shard 2/2 --resume " + b.path).code == 0);
  const Run combined = run("combine --quiet " + b.path + " " + a.path + " -o " + whole.path);
  CHECK(combined.code == 0);
  CHECK(without_provenance(load(whole.path)) == expected);

  const Run missing = run("combine " + a.path);
  CHECK(missing.code == 2);
  CHECK(missing.says(
      "3 of 6 tasks are missing: omega 0.3 positional; omega 0.4 semantic; omega 0.4 uninformed"));

  // A finished file has nothing left to do.
  CHECK(run("combine --quiet " + a.path + " " + b.path + " " + a.path).code == 0);
  const Run again = run(kSweep + " --shard 1/2 --resume " + a.path);
  CHECK(again.code == 0);
  CHECK(again.says("3 of 3 tasks are finished"));
}

TEST_CASE("phase sweep -o removes its own work file at the end, and takes one up that it finds") {
  const TemporaryFile out("diagram.json");
  const std::string work = out.path + ".work.jsonl";
  CHECK(run(kSweep + " --quiet --shard 2/3 -o " + out.path).code == 0);
  CHECK(std::filesystem::exists(work));
  const Run r = run(kSweep + " -o " + out.path);
  CHECK(r.code == 0);
  CHECK(r.says("2 of 6 tasks are finished"));
  CHECK_FALSE(std::filesystem::exists(work));
  CHECK(without_provenance(load(out.path)) == without_provenance(reference()));
}

TEST_CASE("phase sweep and combine: bad input is one line and leaves files alone") {
  const TemporaryFile work("other.jsonl"), notes("notes.txt", "not a work file\n");
  CHECK(run("phase sweep --alpha 1 --omega 0.3 --branch uninformed --tolerance 1e-2 --quiet --resume " +
            work.path)
            .code == 0);
  const std::string before = work.content();
  struct Case {
    std::string arguments;
    int code;
    std::string says;
  };
  for (const Case& c : std::vector<Case>{
           {"phase sweep --alpha 0.1:2:1", 2, "count from 2"},
           {"phase sweep --alpha 2:0.1:5", 2, "start < stop"},
           {"phase sweep --alpha 0.1:2:2.5", 2, "integer"},
           {"phase sweep --alpha 2,1", 2, "ascending"},
           {"phase sweep --omega 0.4,0.3", 2, "ascending"},
           {"phase sweep --alpha=", 2, "--alpha"},
           {"phase sweep --shard 3/2 --resume x", 2, "--shard: '3/2'"},
           {"phase sweep --shard 1", 2, "--shard: '1'"},
           {"phase sweep --shard 1/2", 2, "--resume"},
           {"phase sweep --resume .", 4, "directory"},
           {"phase sweep --alpha 1 --omega 0.3 --resume x.json -o ./x.json", 2, "x.json"},
           {"phase sweep --resume " + notes.path, 2, "line 1"},
           {"phase sweep --alpha 1 --omega 0.3 --branch uninformed --tolerance 1e-3 --resume " + work.path, 2,
            "tolerance"},
           {"phase sweep --alpha 1 --omega 0.3 --branch uninformed --tolerance 1e-2 --response classical "
            "--resume " +
                work.path,
            2, "response"},
           {"combine " + work.path + " -o " + work.path, 2, "--output"},
           {"combine nothere.jsonl", 4, "nothere.jsonl"},
           {"combine " + notes.path, 2, notes.path},
       }) {
    const Run r = run(c.arguments);
    CAPTURE(c.arguments);
    CAPTURE(r.err);
    CHECK(r.code == c.code);
    CHECK(r.one_line());
    CHECK(r.says(c.says));
    CHECK(r.out.empty());
  }
  CHECK(work.content() == before);
  CHECK(notes.content() == "not a work file\n");
}

TEST_CASE("killed at any moment and resumed, a sweep gives the bytes of an undisturbed one" *
          doctest::test_suite("slow")) {
  const std::string expected = without_provenance(reference());
  std::mt19937 random(5);
  for (int trial = 0; trial < 10; ++trial) {
    const TemporaryFile work("killed.jsonl"), out("killed.json");
    const std::string command =
        std::string(QKSOLVE_BINARY) + " " + kSweep + " --quiet --resume " + work.path + " -o " + out.path;
    const double seconds = 0.05 + 0.6 * static_cast<double>(random() % 1000) / 1000.0;
    const int code = shell("timeout -s KILL " + std::to_string(seconds) + " " + command + " 2>/dev/null");
    CHECK((code == 0 || code == 137 || code == -1));
    // timeout does not wait for the end of what it has killed: until then the file is locked.
    CHECK(shell("flock " + work.path + " true") == 0);
    // As if the last write had been cut, too.
    const auto size = std::filesystem::file_size(work.path);
    std::filesystem::resize_file(work.path, size - std::min<std::uintmax_t>(size, random() % 20));
    CHECK(shell(command) == 0);
    CHECK(without_provenance(load(out.path)) == expected);
  }
}

TEST_CASE("two ranks of mpirun give the bytes of the serial run, and write them once" *
          doctest::test_suite("slow")) {
  const TemporaryFile out("ranks.json"), err("ranks.err");
  const std::string mpirun =
      "mpirun --allow-run-as-root --oversubscribe -n 2 " + std::string(QKSOLVE_BINARY) + " ";
  CHECK(shell(mpirun + kSweep + " -o " + out.path + " 2>" + err.path) == 0);
  CHECK(without_provenance(load(out.path)) == without_provenance(reference()));
  CHECK(load(out.path)["provenance"]["threads"] == 2);
  const std::string text = err.content();
  CHECK(text.find("records: ") == text.rfind("records: "));
  // A mistake is told once, too.
  CHECK(shell(mpirun + "phase sweep --shard 3/2 2>" + err.path) == 2);
  const std::string message = err.content();
  CHECK(message.find("'3/2'") != std::string::npos);
  CHECK(message.find("'3/2'") == message.rfind("'3/2'"));
}

TEST_CASE("an interrupted sweep ends with 130 and what was finished is kept" * doctest::test_suite("slow")) {
  const TemporaryFile work("interrupted.jsonl"), out("interrupted.json");
  const std::string sweep = "phase sweep --alpha 0.25:2:8 --omega 0:0.5:100 --threads 1 --quiet --resume " +
                            work.path + " -o " + out.path;
  for (const std::string signal : {"INT", "TERM"}) {
    CHECK(shell("timeout --preserve-status -s " + signal + " 5 " + std::string(QKSOLVE_BINARY) + " " +
                sweep) == 130);
    CHECK(out.content().empty());  // an output is written when there is a result
  }
  const std::string text = work.content();
  CHECK(text.back() == '\n');
  CHECK(std::count(text.begin(), text.end(), '\n') >= 2);
}
