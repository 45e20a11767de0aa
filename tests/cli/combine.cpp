// qksolve combine: repeated simulations as one.
#include <doctest/doctest.h>

#include <filesystem>

#include "run.hpp"

using namespace qksolve::test;
using nlohmann::ordered_json;

namespace {

const std::string kSimulate = "phase simulate --d 40 --alpha 1.5,2 --omega 0.3 --test-samples 500 --quiet ";

ordered_json load(const std::string& path) {
  std::ifstream file(path);
  return ordered_json::parse(file);
}

void save(const std::string& path, const ordered_json& json) { std::ofstream(path) << json; }

// Two files of different seeds and their combination, made once.
struct Simulations {
  TemporaryFile a{"seed0.json"}, b{"seed1.json"}, all{"seeds.json"};
  int code;
  Simulations() {
    REQUIRE(run(kSimulate + "--instances 3 --seed 0 -o " + a.path).code == 0);
    REQUIRE(run(kSimulate + "--instances 2 --seed 1 -o " + b.path).code == 0);
    code = run("combine " + a.path + " " + b.path + " --quiet -o " + all.path).code;
  }
};

const Simulations& simulations() {
  static const Simulations all;
  return all;
}

// Of combining `json` with the file of seed 0.
Run combined_with(const ordered_json& json) {
  const TemporaryFile other("changed.json");
  save(other.path, json);
  return run("combine " + simulations().a.path + " " + other.path);
}

}  // namespace

TEST_CASE("combine: simulations of other seeds become one result of all their draws") {
  const Simulations& s = simulations();
  REQUIRE(s.code == 0);
  const ordered_json a = load(s.a.path), b = load(s.b.path), all = load(s.all.path);
  CHECK(all["records"].size() == a["records"].size() + b["records"].size());
  CHECK(all["parameters"]["seeds"] == ordered_json{0, 1});
  CHECK(all["parameters"]["alpha"] == a["parameters"]["alpha"]);
  for (const auto& group : all["summary"]["groups"]) {
    double sum = 0;
    int count = 0;
    for (const auto& r : all["records"])
      if (r["alpha"] == group["alpha"] && r["init"] == group["init"] && r["status"] != "branch_changed") {
        sum += r["train_loss"].get<double>();
        ++count;
      }
    CHECK(group["count"] == count);
    CHECK(group["train_loss"].get<double>() == doctest::Approx(sum / count).epsilon(1e-12));
  }
  // Pairs are of one draw: the same instance number of another seed is another draw.
  for (const auto& row : all["summary"]["differences"]) CHECK(row["count"] <= 5);
  CHECK(shell(std::string(QKSOLVE_BINARY) + " schema phase.simulate > test_schema.json && " +
              QKSOLVE_VALIDATE + " test_schema.json " + s.all.path) == 0);
  std::filesystem::remove("test_schema.json");
}

TEST_CASE("combine: a combined result is combined with a third") {
  const Simulations& s = simulations();
  const TemporaryFile c("seed2.json"), more("more.json");
  REQUIRE(run(kSimulate + "--instances 2 --seed 2 -o " + c.path).code == 0);
  REQUIRE(run("combine " + s.all.path + " " + c.path + " --quiet -o " + more.path).code == 0);
  CHECK(load(more.path)["parameters"]["seeds"] == ordered_json{0, 1, 2});
  CHECK(run("combine " + s.all.path + " " + s.b.path).says("repeats the draw with seed 1, instance 0"));
}

TEST_CASE("combine: repeated seeds, other settings and fields of another kind are refused by name") {
  const Simulations& s = simulations();
  const Run twice = run("combine " + s.a.path + " " + s.a.path);
  CHECK(twice.code == 2);
  CHECK(twice.one_line());
  CHECK(twice.says("repeats the draw with seed 0, instance 0"));

  ordered_json other = load(s.b.path);
  other["parameters"]["omega"] = {0.4};
  CHECK(combined_with(other).says("omega is [0.4] in the file, expected [0.3]"));

  for (const auto& [key, value, expected] :
       std::vector<std::tuple<std::string, ordered_json, std::string>>{{"train_loss", "low", "a number"},
                                                                       {"d", "many", "a number"},
                                                                       {"d", 0, "at least 1"},
                                                                       {"init", 3, "a word"},
                                                                       {"note", "x", "a number"}}) {
    other = load(s.b.path);
    other["records"][1][key] = value;
    const Run r = combined_with(other);
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK(r.one_line());
    CHECK(r.says("records, row 2: key '" + key + "' is " + value.dump() + ", expected " + expected));
  }
  const Run missing = run("combine nofile.json " + s.a.path);
  CHECK(missing.code == 4);
  CHECK(missing.says("cannot read 'nofile.json': No such file or directory"));
}
