// Configuration files: TOML, or a result.
#include <doctest/doctest.h>

#include "run.hpp"

using namespace qksolve::test;

namespace {

const std::string kQuick = " --branch uninformed --tolerance 1e-2 --quiet";

Run run_config(const std::string& content, const std::string& more = kQuick) {
  TemporaryFile config("configuration", content);
  return run("phase solve --config " + config.path + more);
}

void check_refused(const std::string& content, const std::vector<std::string>& named) {
  const Run r = run_config(content);
  CAPTURE(content.substr(0, 200));
  CAPTURE(r.err);
  CHECK(r.code == 2);
  CHECK(r.one_line());
  CHECK(r.out.empty());
  CHECK(r.says("test_configuration: "));
  for (const std::string& text : named) CHECK(r.says(text));
}

std::string result(const std::string& parameters) {
  return R"({"schema": "qksolve.phase.solve/1", "parameters": {)" + parameters + "}}";
}

}  // namespace

TEST_CASE("configuration files") {
  const std::string quick = " --branch semantic --tolerance 1e-2 --quiet";
  {
    TemporaryFile config(
        "config.toml",
        "alpha = 1.5\nomega = [0.2, 0.3]\nteacher-matrix = [0.6, 0.4, 0.4, 0.6]\nbranch = \"positional\"\n");
    const Run r = run("phase solve --config " + config.path + quick);
    REQUIRE(r.code == 0);
    CHECK(r.json()["parameters"]["alpha"] == nlohmann::json({1.5}));
    CHECK(r.json()["parameters"]["omega"] == nlohmann::json({0.2, 0.3}));
    CHECK(r.json()["parameters"]["branch"] == "semantic");  // the command line wins
  }
  {
    TemporaryFile config("unknown.toml", "omgea = 0.3\n");
    const Run r = run("phase solve --config " + config.path);
    CHECK(r.code == 2);
    CHECK(r.one_line());
    for (const std::string& text : {config.path, std::string("'omgea'"), std::string("'omega'")})
      CHECK(r.says(text));
  }
  {
    TemporaryFile config("bad.toml", "omega = 1.5\n");
    const Run r = run("phase solve --config " + config.path);
    CHECK(r.code == 2);
    for (const std::string& text : {config.path, std::string("--omega"), std::string("'1.5'")})
      CHECK(r.says(text));
  }
  {
    TemporaryFile config("section.toml", "[phase]\nomega = 0.3\n");
    CHECK(run("phase solve --config " + config.path).code == 2);
  }
  CHECK(run("phase solve --config /nonexistent/file.toml").code == 4);
  CHECK(run("phase solve --config .").code == 4);
}

TEST_CASE("a result file as configuration repeats the run") {
  TemporaryFile first("first.json");
  REQUIRE(run("phase solve --alpha 1.2 --branch semantic --tolerance 1e-2 --quiet -o " + first.path).code ==
          0);
  const Run again = run("phase solve --config " + first.path + " --quiet");
  REQUIRE(again.code == 0);
  auto expected = nlohmann::ordered_json::parse(first.content()), found = again.json();
  expected.erase("provenance");
  found.erase("provenance");
  CHECK(expected.dump() == found.dump());

  TemporaryFile truncated("truncated.json", first.content().substr(0, 200));
  CHECK(run("phase solve --config " + truncated.path).code == 2);
  TemporaryFile foreign("foreign.json", "{\"a\": 1}");
  const Run r = run("phase solve --config " + foreign.path);
  CHECK(r.code == 2);
  CHECK(r.says("schema"));
  const Run other = run("phase critical --config " + first.path);
  CHECK(other.code == 2);
  CHECK(other.says("qksolve.phase.critical"));
}

TEST_CASE("configuration files that are not TOML are refused with the line") {
  for (const std::string line : {"alpha", "alpha = 1 2", "alpha = [1, 2", "[]", "% comment", "; comment",
                                 "alpha = .3", "alpha = 010", "alpha = 1e999", "alpha = 3\nalpha = 4"})
    check_refused("omega = 0.3\n" + line + "\n",
                  {line.find('\n') == std::string::npos ? "line 2 " : "line 3 "});
  check_refused("alpha = " + std::string(100000, '['), {"line 1 "});
}

TEST_CASE("what TOML allows and an option does not") {
  check_refused("max_iterations = 3\nmax-iterations = 4\n", {"'max-iterations'", "twice"});
  check_refused("max-iterations = 1e3\n", {"--max-iterations", "'1e3'", "integer"});
  check_refused("alpha = inf\n", {"--alpha", "'inf'", "> 0"});
  check_refused("alpha = []\n", {"--alpha", "''"});
  check_refused("alpha = 1979-05-27\n", {"'alpha'", "a number, a word"});
  check_refused("trace = 1\n", {"--trace", "'1'", "true, false"});
  for (const std::string section : {"[default]\nalpha = 1\n", "default.alpha = 1\n", "[[default]]\n"})
    check_refused(section, {"section 'default'"});
  check_refused("output = [\"a\", \"b\"]\n", {"line 1: ", "'output'", "one file"});
  check_refused("csv = []\n", {"'csv'", "one file"});
  check_refused("config = \"x\"\n", {"unknown key 'config'"});
  check_refused("something-else-entirely = 1\n", {"unknown key 'something-else-entirely'"});
  CHECK_FALSE(run_config("something-else-entirely = 1\n").says("did you mean"));
}

TEST_CASE("numbers of a configuration file follow the rules of the command line") {
  for (const std::string number : {"0x10", "0o10", "0b1", "1_000", "+5"})
    for (const std::string option : {"max-iterations", "alpha"}) {
      check_refused("omega = 0.3\n" + option + " = " + number + " # of a kind\n",
                    {"line 2: --" + option, "'" + number + "'"});
      check_refused("omega = 0.3\n" + option + " = [" + number + "]\n",
                    {"line 2: --" + option, "'" + number + "'"});
    }
  check_refused("alpha = [1, 1_0.5]\n", {"line 1: --alpha", "'1_0.5'"});
  // Characters of several bytes before it, and a byte order mark.
  check_refused("which = [\"\u00e9\u4e2d\", 0x10]\n", {"line 1: ", "'which'"});
  check_refused("branch = [\"\u00e9\u4e2d\", 0x10]\n", {"line 1: --branch", "'\u00e9\u4e2d'"});
  check_refused(
      "\xEF\xBB\xBF"
      "alpha = 0x10\n",
      {"line 1: --alpha", "'0x10'"});
  for (const std::string zero : {"0", "-0", "-0.0", "-0e5"}) {
    const Run r = run_config("omega = " + zero + "\n");
    REQUIRE(r.code == 0);
    CHECK(r.json()["parameters"]["omega"].dump() == "[0.0]");
  }
  CHECK(run_config("sigma = 5e-1\nalpha = [1.50, 2]\n").json()["parameters"]["alpha"] ==
        nlohmann::json({1.5, 2.0}));
}

TEST_CASE("lists of rows: of equal length, of the model's shape, and for matrices only") {
  check_refused("omega = 0.3\nteacher-matrix = [[.6, .4], [.6]]\n", {"line 2 is not valid TOML"});
  check_refused("omega = 0.3\nteacher-matrix = [[0.6, 0.4, 0.4], [0.6]]\n",
                {"line 2: ", "'teacher-matrix'", "equal length", "3 and 1"});
  check_refused("teacher-matrix = [[0.6, 0.4, 0.4, 0.6]]\n",
                {"line 1: --teacher-matrix", "1 x 4", "expected 2 x 2"});
  check_refused("positional-matrix = [[1], [0], [-1], [0]]\n",
                {"line 1: --positional-matrix", "4 x 1", "expected 2 rows", "--tokens 2"});
  check_refused("\nteacher-matrix = [[0.6, 0.4]]\n", {"line 2: --teacher-matrix", "1 x 2"});
  check_refused(result("\"teacher_matrix\": [[0.6, 0.4, 0.4, 0.6]]"), {"--teacher-matrix", "1 x 4"});
  check_refused("positional-matrix = [[1, 0], -1]\n", {"line 1: ", "'positional-matrix'", "not of both"});
  check_refused("positional-matrix = [[[1]], [[0]]]\n", {"'positional-matrix'", "list of these"});
  check_refused("teacher-matrix = [[], []]\n", {"--teacher-matrix", "''"});
  for (const std::string key : {"alpha", "omega", "sigma", "branch", "lambda"})
    check_refused("\n" + key + " = [[1], [2]]\n", {"line 2: ", "'" + key + "'", "not a list of lists"});
  check_refused(result("\"teacher_matrix\": [[0.6, 0.4, 0.4], [0.6]]"), {"'teacher_matrix'", "3 and 1"});
  check_refused(result("\"alpha\": [[1], [2]]"), {"'alpha'", "not a list of lists"});
  const Run r = run_config("tokens = 3\npositional-matrix = [[1, 0], [0, 1], [-1, 0]]\n",
                           " --branch uninformed --tolerance 1e-1 --quiet");
  CHECK(r.code == 0);
  CHECK(r.json()["parameters"]["positional_matrix"] == nlohmann::json({1.0, 0.0, 0.0, 1.0, -1.0, 0.0}));
  // The command line wins with its plain list.
  CHECK(run_config("teacher-matrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n", kQuick + " --teacher-matrix .6,.4")
            .code == 0);
}

TEST_CASE("every message about a key of a configuration file has its line") {
  check_refused("\n\nomgea = 1\n", {"line 3: unknown key 'omgea'"});
  check_refused("alpha = 1\nomega = 2\n", {"line 2: --omega: '2'"});
  check_refused("max_iterations = 3\nmax-iterations = 4\n", {"line 2: the key 'max-iterations'"});
  check_refused("alpha = 1\n\n[phase]\nomega = 2\n", {"line 3: section 'phase'"});
}

TEST_CASE("legal configuration files") {
  for (const std::string content : {"", " \n", "# nothing\n"}) CHECK(run_config(content).code == 0);
  CHECK(run("phase solve --config /dev/null" + kQuick).code == 0);
  const Run r = run_config(
      "\xEF\xBB\xBF"
      "alpha = [\r\n  1,\r\n  2.5,\r\n]\r\nteacher_matrix = [[0.6, 0.4], [0.3, 0.7]]\r\n"
      "trace = true\r\n");
  REQUIRE(r.code == 0);
  CHECK(r.json()["parameters"]["alpha"] == nlohmann::json({1.0, 2.5}));
  CHECK(r.json()["parameters"]["teacher_matrix"] == nlohmann::json({0.6, 0.4, 0.3, 0.7}));
  CHECK(r.json().contains("trace"));
}

TEST_CASE("files that do not end, and outputs over inputs") {
  for (const std::string path : {"/dev/zero", "/dev/full"}) {
    const Run r = run("phase solve --config " + path);
    CHECK(r.code == 4);
    CHECK(r.says(path));
  }
  for (const std::string line :
       {"phase solve --config test_input -o ./test_input", "compare test_input x -o test_input"}) {
    TemporaryFile input("input", "alpha = 1\n");
    const Run r = run(line);
    CHECK(r.code == 2);
    CHECK(r.one_line());
    CHECK(r.says("--output"));
    CHECK(input.content() == "alpha = 1\n");
  }
}

TEST_CASE("damaged and foreign results as configuration") {
  CHECK(run_config(result("\"alpha\": [1.5]")).code == 0);
  check_refused(result("\"alpha\": [1], \"alpha\": [2]"), {"'alpha'", "twice"});
  check_refused(result("\"max_iterations\": 1, \"max-iterations\": 2"), {"'max-iterations'", "twice"});
  check_refused(result("\"alpha\": 1e999"), {"out of range"});
  check_refused(result("\"alpha\": null"), {"'alpha'"});
  check_refused(result("\"max_iterations\": 1e3"), {"--max-iterations", "'1000.0'"});
  check_refused(result("\"output\": \"test_taken_from_the_result\""), {"unknown key 'output'"});
  check_refused(result("\"alpha\": " + std::string(100000, '[')), {"too deeply"});
  check_refused("{\n\"schema\": ,", {"line 2 "});
  check_refused(R"({"schema": "qksolve.phase.solve/2", "parameters": {}})", {"qksolve.phase.solve/1"});
  check_refused(R"({"schema": "qksolve.phase.solve/1", "parameters": []})", {"'parameters'"});
}
