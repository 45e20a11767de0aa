// What one command writes, the others read or refuse by name.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "run.hpp"

using namespace qksolve::test;

namespace {

struct Kind {
  std::string name;     // as the schema and the messages call it
  std::string command;  // that makes one, without -o; nothing: it is among the results of the repository
  std::string file;
};

const std::string kFlowModel =
    " --classes 4 --pool 1 --common 6 --common-per-sequence 6 --distinct-per-sequence 1 --query shared ";

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"phase.solve", "phase solve --alpha 2 --omega 0.3 --tolerance 1e-2", "solve.json"},
      {"phase.critical", "phase critical --omega 0.3 --which alpha_c --tolerance 0.1", "critical.json"},
      {"phase.sweep", "phase sweep --alpha 2,3 --omega 0.3 --tolerance 1e-2", "sweep.json"},
      {"phase.simulate", "phase simulate --d 50 --alpha 2 --omega 0.3 --instances 3", "simulate.json"},
      {"flow.solve", "flow solve --parameterization CACO --times 1,2 --t-max 2" + kFlowModel, "flow.json"},
      {"flow.simulate",
       "flow simulate --parameterization CACO --d 12 --steps 4 --test-sequences 5" + kFlowModel,
       "training.json"},
      {"coupled.solve",
       "coupled solve --integrator euler --context 8,16 --head-dimension 4 --draws 2 --states 2", "map.json"},
      {"coupled.train", "", "mqar_steps_3.json"},
      {"compare", "compare test_journeys/solve.json test_journeys/sweep.json", "compare.json"},
      {"work file",
       "phase sweep --alpha 2,3 --omega 0.3 --tolerance 1e-2 --shard 1/1 --resume test_journeys/work.jsonl",
       "work.jsonl"}};
  return all;
}

std::string path_of(const Kind& kind) { return "test_journeys/" + kind.file; }

// One file of every kind, made once and gone with the process.
struct Files {
  Files() {
    std::filesystem::remove_all("test_journeys");
    std::filesystem::create_directory("test_journeys");
    for (const Kind& kind : kinds()) {
      CAPTURE(kind.name);
      if (kind.command.empty()) {
        std::filesystem::copy_file(std::string(QKSOLVE_REFERENCE_DIR) + "/../../results/coupled/" + kind.file,
                                   path_of(kind));
        continue;
      }
      const std::string output = kind.name == "work file" ? "test_journeys/not_used.json" : path_of(kind);
      const int code = run(kind.command + " --quiet -o " + output).code;
      REQUIRE((code == 0 || code == 3));
      REQUIRE(std::filesystem::exists(path_of(kind)));
    }
  }
  ~Files() { std::filesystem::remove_all("test_journeys"); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
};

void require_files() { static const Files files; }

// r: read. k: refused, the line names a file and its kind. c: refused for what a file holds, which the line
// names.
using Table = std::vector<std::pair<std::string, std::string>>;

bool named(const Run& r, const Kind& kind) { return r.says(path_of(kind)) && r.says(kind.name); }

void check(const Run& r, char expected, const std::vector<const Kind*>& given) {
  CAPTURE(r.err);
  CAPTURE(r.code);
  if (expected == 'r') {
    CHECK((r.code == 0 || r.code == 3));
    return;
  }
  CHECK(r.code == 2);
  CHECK(r.one_line());
  CHECK(r.out.empty());
  CHECK(std::any_of(given.begin(), given.end(), [&](const Kind* kind) {
    return expected == 'k' ? named(r, *kind) : r.says(path_of(*kind));
  }));
}

// Row and column: the first and the second file, in the order of kinds().
void check_pairs(const Table& table, const std::string& command, const std::string& options) {
  require_files();
  REQUIRE(table.size() == kinds().size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    REQUIRE(table[i].first == kinds()[i].name);
    REQUIRE(table[i].second.size() == kinds().size());
    for (std::size_t j = 0; j < kinds().size(); ++j) {
      const Kind &first = kinds()[i], &second = kinds()[j];
      const std::string line = command + " " + path_of(first) + " " + path_of(second) + " " + options;
      CAPTURE(line);
      check(run(line), table[i].second[j], {&first, &second});
    }
  }
}

}  // namespace

TEST_CASE("journeys: every kind of result has a schema of its name") {
  for (const Kind& kind : kinds())
    if (kind.name != "work file") CHECK(run("schema " + kind.name).code == 0);
}

// so cr sw si fs ft cs ct co wo
TEST_CASE("journeys: compare reads two results of one model or names what it does not") {
  check_pairs({{"phase.solve", "rkrrkkkkkk"},
               {"phase.critical", "krkkkkkkkk"},
               {"phase.sweep", "rkrrkkkkkk"},
               {"phase.simulate", "rkrrkkkkkk"},
               {"flow.solve", "kkkkrrkkkk"},
               {"flow.simulate", "kkkkrrkkkk"},
               {"coupled.solve", "kkkkkkkkkk"},
               {"coupled.train", "kkkkkkkkkk"},
               {"compare", "kkkkkkkkkk"},
               {"work file", "kkkkkkkkkk"}},
              "compare", "--quiet -o test_journeys/compared.json");
}

TEST_CASE("journeys: plot draws together what belongs together or names what does not") {
  check_pairs({{"phase.solve", "rkkrkkkkkk"},
               {"phase.critical", "krkkkkkkkk"},
               {"phase.sweep", "krkkkkkkkk"},
               {"phase.simulate", "rkkrkkkkkk"},
               {"flow.solve", "kkkkrrkkkk"},
               {"flow.simulate", "kkkkrrkkkk"},
               {"coupled.solve", "kkkkkkrkkk"},
               {"coupled.train", "kkkkkkkkkk"},
               {"compare", "kkkkkkkkkk"},
               {"work file", "kkkkkkkkkk"}},
              "plot", "--data-only -o test_journeys/figure.svg");
}

TEST_CASE("journeys: combine joins shards, or simulations of other draws, or names what it does not") {
  check_pairs({{"phase.solve", "kkkkkkkkkk"},
               {"phase.critical", "kkkkkkkkkk"},
               {"phase.sweep", "kkkkkkkkkk"},
               {"phase.simulate", "cccccccccc"},
               {"flow.solve", "kkkkkkkkkk"},
               {"flow.simulate", "kkkkkkkkkk"},
               {"coupled.solve", "kkkkkkkkkk"},
               {"coupled.train", "kkkkkkkkkk"},
               {"compare", "kkkkkkkkkk"},
               {"work file", "cccccccccr"}},
              "combine", "--quiet -o test_journeys/combined.json");
}

TEST_CASE("journeys: --config repeats the run of a command's own result and names any other kind") {
  require_files();
  for (const Kind& command : kinds()) {
    if (command.command.empty() || command.name == "work file") continue;
    std::string words = command.name;
    std::replace(words.begin(), words.end(), '.', ' ');
    for (const Kind& kind : kinds()) {
      const std::string line =
          words + " --config " + path_of(kind) + " --quiet -o test_journeys/repeated.json";
      CAPTURE(line);
      check(run(line), kind.name == command.name ? 'r' : 'k', {&kind});
      if (kind.name != command.name) continue;
      const auto read = [](const std::string& path) {
        std::ifstream file(path);
        return nlohmann::ordered_json::parse(file);
      };
      const auto first = read(path_of(kind)), again = read("test_journeys/repeated.json");
      for (const char* part : {"parameters", "records", "summary"}) CHECK(first[part] == again[part]);
    }
  }
}

#ifdef QKSOLVE_TRAINING
TEST_CASE("journeys: --config of coupled train, a program of its own, names any other kind") {
  require_files();
  for (const Kind& kind : kinds()) {
    if (kind.name == "coupled.train") continue;
    CAPTURE(kind.name);
    const TemporaryFile out("journey.out"), err("journey.err");
    const int code = shell(std::string(QKSOLVE_BINARY) + " coupled train --config " + path_of(kind) + " > " +
                           out.path + " 2> " + err.path);
    check({code, out.content(), err.content()}, 'k', {&kind});
  }
}
#endif
