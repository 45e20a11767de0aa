// The Bayes-optimal limit on the command line.
#include <doctest/doctest.h>

#include <filesystem>

#include "run.hpp"

using namespace qksolve::test;
using nlohmann::ordered_json;

namespace {

ordered_json record(const ordered_json& result, const std::string& which) {
  for (const ordered_json& r : result["records"])
    if (r["which"] == which) return r;
  throw std::runtime_error("no record of " + which);
}

bool valid(const ordered_json& result) {
  const std::string id = result["schema"];
  TemporaryFile schema("bayes_schema.json", run("schema " + id.substr(8, id.rfind('/') - 8)).out),
      file("bayes_result.json", result.dump());
  return shell(std::string(QKSOLVE_VALIDATE) + " " + schema.path + " " + file.path) == 0;
}

}  // namespace

TEST_CASE("phase solve --learner bayes: overlap, free entropy and error, at any omega below 1") {
  const Run r = run("phase solve --learner bayes --alpha .15,.35,.6 --omega 0,.1,.3,.5 --tolerance 1e-7");
  CHECK(r.code == 0);
  const ordered_json result = r.json();
  CHECK(valid(result));
  REQUIRE(result["records"].size() == 12);
  // This project's theory note.
  const double errors[4][3] = {{0.0040232333, 0.0033369343, 0},
                               {0.0032588190, 0.0027029168, 0},
                               {0.0019713843, 0.0016350978, 0},
                               {0.0010058083, 0.0008342336, 0}};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < 3; ++k) {
      const ordered_json& at = result["records"][3 * i + k];
      CAPTURE(at.dump());
      CHECK(std::abs(at["gen_error"].get<double>() - errors[i][k]) < 1e-9);
      CHECK(at["q"] == result["records"][k]["q"]);
      CHECK(at["status"] == "converged");
    }
  CHECK(result["records"][1]["q"].get<double>() == doctest::Approx(0.4187333980).epsilon(1e-9));
  CHECK(result["records"][1]["free_entropy"].get<double>() == doctest::Approx(0.0100056168).epsilon(1e-8));
  CHECK_FALSE(result["records"][2].contains("free_entropy"));
  CHECK(result["parameters"]["learner"] == "bayes");
  // Options that play no part are no parameters, and the result reruns from its own.
  CHECK_FALSE(result["parameters"].contains("damping"));
  TemporaryFile file("bayes.json", r.out);
  CHECK(run("phase solve --quiet --config " + file.path).json()["records"] == result["records"]);
}

TEST_CASE("phase solve: erm is the learner unless another is named, and its result does not say so") {
  const std::string line = "phase solve --tolerance 1e-2 --branch semantic --quiet";
  const ordered_json plain = run(line).json(), named = run(line + " --learner erm").json();
  CHECK(plain["records"] == named["records"]);
  CHECK(plain["parameters"] == named["parameters"]);
  CHECK_FALSE(plain["parameters"].contains("learner"));
}

TEST_CASE("phase solve --learner bayes: three tokens, each with its own sigma") {
  const ordered_json result =
      run("phase solve --learner bayes --tokens 3 --sigma .5,.4,.6 --alpha .2 --tolerance 1e-3 --quiet")
          .json();
  CHECK(valid(result));
  const ordered_json& r = result["records"][0];
  CHECK(r["status"] == "converged");
  CHECK(r["q"].get<double>() == doctest::Approx(0.4370077550).epsilon(1e-9));
  CHECK(r["gen_error"] < r["gen_error_linear"]);
  CHECK(r["gen_error_error"].get<double>() > 0);
}

TEST_CASE("phase critical --learner bayes: the thresholds, and where Bayes passes the empirical risk") {
  const ordered_json result = run("phase critical --learner bayes --quiet").json();
  CHECK(valid(result));
  CHECK(result["records"].size() == 4);
  CHECK(record(result, "alpha_weak")["value"].get<double>() == doctest::Approx(1.0 / 6).epsilon(1e-15));
  CHECK(record(result, "alpha_it")["value"] == 0.5);
  CHECK(record(result, "alpha_algorithmic")["value"] == 0.5);
  CHECK(record(result, "alpha_linear_algebra")["value"] == 1);
  const Run three = run("phase critical --learner bayes --tokens 3 --which alpha_it,alpha_linear_algebra");
  CHECK(record(three.json(), "alpha_it")["value"].get<double>() == doctest::Approx(1.0 / 3));
  CHECK(record(three.json(), "alpha_linear_algebra")["value"] == 0.5);

  // This project's theory note: the semantic minimum at alpha = 2 has the error of Bayes at alpha = .386395.
  const Run erm = run("phase critical --learner bayes --which alpha_erm,alpha_baseline --tolerance 1e-4");
  CHECK(erm.code == 0);
  CHECK(valid(erm.json()));
  const ordered_json passed = record(erm.json(), "alpha_erm");
  CHECK(passed["branch"] == "semantic");
  CHECK(std::abs(passed["value"].get<double>() - 0.386395) < 1e-5 + passed["value_error"].get<double>());
  CHECK(passed["value_error"].get<double>() < 1e-4);
  // The positional minimum at alpha = 1 is worse than the baseline.
  const Run worse = run("phase critical --learner bayes --which alpha_erm --erm-alpha 1 --tolerance 1e-2");
  CHECK(worse.code == 3);
  CHECK(worse.json()["records"][0]["status"] == "no_bracket");
  CHECK(valid(worse.json()));
}

TEST_CASE("phase critical --learner bayes: alpha_weak with noise, and of teachers of rank two") {
  // s = .1 at sigma = .5, omega = .2: delta = 2 s^2 sigma^2 (1 - omega)^2; this project's theory note.
  const Run noisy = run("phase critical --learner bayes --noise .0032 --omega .2 --tolerance 1e-4");
  CHECK(noisy.code == 0);
  CHECK(valid(noisy.json()));
  CHECK(record(noisy.json(), "alpha_weak")["value"].get<double>() == doctest::Approx(0.4198).epsilon(2e-4));
  const Run two = run("phase critical --learner bayes --teacher-rank 2");
  CHECK(two.code == 0);
  CHECK(record(two.json(), "alpha_weak")["value"] == 0.4);
  CHECK(two.json()["records"].size() == 1);
}

TEST_CASE("the learner bayes refuses what it does not know, in one line") {
  for (const auto& [line, words] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"solve --learner bayes --omega 1", {"--omega", "1", "expected less"}},
           {"solve --learner bayes --omega 0:1:3", {"--omega", "1", "expected less"}},
           {"solve --learner bayes --teacher-rank 2", {"--teacher-rank", "2", "expected 1"}},
           {"solve --learner bayes --tokens 1", {"--tokens", "'1'", "2 to 64", "says nothing"}},
           {"solve --learner bayes --branch semantic", {"--branch", "bayes"}},
           {"solve --learner bayes --trace", {"--trace", "bayes"}},
           {"solve --learner best", {"--learner", "'best'", "erm, bayes"}},
           {"critical --learner bayes --which alpha_c", {"--which", "'alpha_c'", "bayes"}},
           {"critical --which alpha_weak", {"--which", "'alpha_weak'", "erm"}},
           {"critical --erm-alpha 3", {"--erm-alpha", "erm"}},
           {"critical --noise 1", {"--noise", "erm"}},
           {"critical --learner bayes --noise -1", {"--noise", "'-1'", ">= 0"}},
           {"critical --learner bayes --noise 1 --which alpha_it", {"--noise", "'1'", "alpha_weak"}},
           {"critical --learner bayes --noise 1 --tokens 3", {"--noise", "'1'", "--tokens 2"}},
           {"critical --learner bayes --noise 1e-9", {"--noise", "'1e-09'", "at least"}},
           {"critical --learner bayes --teacher-rank 2 --which alpha_it",
            {"--teacher-rank", "'2'", "alpha_weak"}},
           {"critical --learner bayes --teacher-rank 2 --sigma .4,.5", {"--teacher-rank", "one --sigma"}},
           {"critical --learner bayes --teacher-rank 2 --noise 1", {"--noise", "--teacher-rank"}},
           {"critical --learner bayes --erm-alpha 0", {"--erm-alpha", "'0'", "> 0"}},
           {"critical --learner bayes --alpha-range 1:2", {"--alpha-range", "bayes"}}}) {
    CAPTURE(line);
    const Run r = run("phase " + line);
    CHECK(r.code == 2);
    CHECK(r.one_line());
    CHECK(r.out.empty());
    for (const std::string& word : words) CHECK(r.says(word));
  }
}

TEST_CASE("phase sweep --with bayes: the limit beside every record, which else stays as it is") {
  const std::string line = "phase sweep --alpha 1:2:3 --omega .3,1 --tolerance 1e-2 --quiet";
  const ordered_json plain = run(line).json(), with = run(line + " --with bayes").json();
  CHECK(valid(with));
  REQUIRE(with["records"].size() == plain["records"].size());
  for (std::size_t i = 0; i < with["records"].size(); ++i) {
    ordered_json record = with["records"][i];
    CAPTURE(record.dump());
    const bool beside = record["omega"] != 1 && record["status"] == "converged";
    CHECK(record.contains("gen_error_bayes") == beside);
    if (beside) {
      // From alpha = 1/2 on everything can be known.
      CHECK(record["gen_error_bayes"] == 0);
      // A minimum that is worse than the baseline is matched without samples.
      CHECK((record["efficiency"] == 0) ==
            (record["gen_error"].get<double>() >= record["gen_error_linear"].get<double>() * (1 - 1e-9)));
      CHECK(record["efficiency"].get<double>() < 0.5);
    }
    for (const char* key : {"gen_error_bayes", "gen_error_bayes_error", "efficiency", "efficiency_error"})
      record.erase(key);
    CHECK(record == plain["records"][i]);
  }
  // alpha_erm says the same of the global minimum.
  for (const ordered_json& r : with["records"])
    if (r.value("global_minimum", false) && r["alpha"] == 2 && r["omega"] == 0.3)
      CHECK(std::abs(r["efficiency"].get<double>() - 0.386395 / 2) <
            1e-5 + r["efficiency_error"].get<double>());
  ordered_json lines = ordered_json::array();
  for (const ordered_json& l : with["summary"]["lines"])
    if (l["which"] != "alpha_weak" && l["which"] != "alpha_it") lines.push_back(l);
  CHECK(lines == plain["summary"]["lines"]);
  CHECK(with["summary"]["lines"].size() == lines.size() + 2);

  CHECK(run(line + " --with all").code == 2);
  CHECK(run(line + " --with bayes --teacher-rank 2").says("--with"));
}

TEST_CASE("plot: the limit beside the branches, its thresholds in the diagram") {
  TemporaryFile erm("plot_erm.json"), bayes("plot_bayes.json"), sweep("plot_sweep.json"), figure("limit.svg"),
      script("limit.gp"), table("limit.dat");
  REQUIRE(run("phase solve --alpha .2,.6 --tolerance 1e-2 --quiet -o " + erm.path).code != 2);
  REQUIRE(run("phase solve --learner bayes --alpha .2,.6 --quiet -o " + bayes.path).code == 0);
  CHECK(run("plot --data-only " + erm.path + " " + bayes.path + " -o " + figure.path).code == 0);
  CHECK(script.content().find("bayes") != std::string::npos);
  REQUIRE(
      run("phase sweep --alpha .4,.6 --omega .3,.4 --tolerance 1e-2 --with bayes --quiet -o " + sweep.path)
          .code == 0);
  CHECK(run("plot --data-only " + sweep.path + " -o " + figure.path).code == 0);
  CHECK(table.content().find("alpha_weak") != std::string::npos);
  CHECK(script.content().find("{IT}") != std::string::npos);
}

TEST_CASE("phase simulate --optimizer bayes-amp: beside the recursion, and compared with the limit") {
  TemporaryFile theory("limit.json"), simulation("amp.json");
  REQUIRE(run("phase solve --learner bayes --alpha .35 --tolerance 1e-6 --quiet -o " + theory.path).code ==
          0);
  const Run r =
      run("phase simulate --optimizer bayes-amp --alpha .35 --d 300 --instances 16 --steps 60 "
          "--init informed --start-overlap .4 --gradient-tolerance 1e-3 --trajectory --quiet");
  CHECK((r.code == 0 || r.code == 3));
  const ordered_json result = r.json();
  CHECK(valid(result));
  CHECK(result["records"].size() == 16);
  CHECK_FALSE(result["parameters"].contains("test_samples"));
  for (const ordered_json& row : result["summary"]["paths"]) {
    if (row["iteration"] == 0 || row["iteration"] > 5 || row["count"] < 16) continue;
    CAPTURE(row.dump());
    CHECK(std::abs(row["q"].get<double>() - row["q_predicted"].get<double>()) <
          4 * row["q_error"].get<double>());
    CHECK(std::abs(row["mse"].get<double>() - row["mse_predicted"].get<double>()) <
          4 * row["mse_error"].get<double>());
  }
  std::ofstream(simulation.path) << r.out;
  TemporaryFile file("limit_amp.json");
  REQUIRE(run("compare " + theory.path + " " + simulation.path + " --quiet -o " + file.path).code == 0);
  const ordered_json comparison = ordered_json::parse(file.content());
  CHECK(comparison["summary"]["only_in_a"] == 0);
  CHECK(comparison["summary"]["outside"] == 0);
  REQUIRE(comparison["records"].size() == 2);
  CHECK(comparison["records"][0]["quantity"] == "q");
  CHECK(comparison["records"][1]["quantity"] == "mse");
}

TEST_CASE("bayes-amp and the other optimizers refuse each other's options, in one line") {
  for (const auto& [line, words] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"--optimizer bayes-amp --init semantic", {"--init", "'semantic'", "informed"}},
           {"--optimizer bayes-amp --test-samples 100", {"--test-samples", "bayes"}},
           {"--optimizer bayes-amp --omega 1", {"--omega", "expected less"}},
           {"--optimizer bayes-amp --start-overlap 1", {"--start-overlap", "'1'", "[0, 1)"}},
           {"--init informed", {"--init", "bayes-amp"}},
           {"--start-overlap .2", {"--start-overlap", "bayes-amp"}}}) {
    CAPTURE(line);
    const Run r = run("phase simulate --d 20 " + line);
    CHECK(r.code == 2);
    CHECK(r.one_line());
    for (const std::string& word : words) CHECK(r.says(word));
  }
}

TEST_CASE("deep critical: the second layer's threshold, above 1/6, with its error") {
  const ordered_json result = run("deep critical --skip .5,1 --quiet").json();
  CHECK(valid(result));
  // This project's theory note, another quadrature.
  CHECK(std::abs(result["records"][0]["value"].get<double>() - 0.2027118) < 2e-7);
  CHECK(std::abs(result["records"][1]["value"].get<double>() - 0.1854778) < 2e-7);
  const Run negative = run("deep critical --skip -1");
  CHECK(negative.code == 2);
  CHECK(negative.one_line());
  CHECK(negative.says("--skip"));
}
