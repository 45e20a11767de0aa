// The rules of options: what is refused, with which exit code, and that the one line names option, value and
// range.
#include <doctest/doctest.h>

#include "run.hpp"

using namespace qksolve::test;

namespace {

struct Refusal {
  std::string line;
  std::vector<std::string> named;  // each must stand in the message
};

void check_refused(const std::vector<std::string>& words, const std::vector<std::string>& named) {
  const Run r = run(words);
  CAPTURE(r.err);
  CHECK(r.code == 2);
  CHECK(r.one_line());
  CHECK(r.out.empty());
  for (const std::string& text : named) CHECK(r.says(text));
}

void check_refused(const std::string& command, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.line);
    check_refused(words(command + " " + refusal.line), refusal.named);
  }
}

}  // namespace

TEST_CASE("reals are checked strictly") {
  check_refused("phase solve", {{"--omega 1.2", {"--omega", "'1.2'", "[0, 1]"}},
                                {"--omega -0.1", {"--omega", "'-0.1'", "[0, 1]"}},
                                {"--omega nan", {"--omega", "'nan'"}},
                                {"--sigma inf", {"--sigma", "'inf'", "[1e-06, 1e+06]"}},
                                {"--sigma 0", {"--sigma", "'0'", "[1e-06, 1e+06]"}},
                                {"--lambda -1", {"--lambda", "'-1'", "> 0"}},
                                {"--alpha 1e999", {"--alpha", "'1e999'", "> 0"}},
                                {"--alpha 1e-999", {"--alpha", "'1e-999'"}},
                                {"--alpha 1x", {"--alpha", "'1x'"}},
                                {"--alpha 0x1p3", {"--alpha", "'0x1p3'"}},
                                {"--alpha 1,5,", {"--alpha", "''"}},
                                {"--alpha 1,,2", {"--alpha", "''"}},
                                {"--alpha 1,1", {"--alpha", "'1,1'", "once"}},
                                {"--tolerance 0", {"--tolerance", "'0'"}},
                                {"--tolerance 1", {"--tolerance", "'1'"}},
                                {"--damping 1", {"--damping", "'1'", "[0, 1)"}}});
  check_refused({"phase", "solve", "--omega", ""}, {"--omega: ''", "[0, 1]"});
  check_refused({"phase", "solve", "--omega="}, {"--omega: ''", "[0, 1]"});
  check_refused({"phase", "solve", "--alpha", " 1"}, {"--alpha", "' 1'"});
}

TEST_CASE("minus zero is zero, to the byte") {
  const auto records = [](const std::string& omega) {
    auto json =
        run("phase solve --branch uninformed,positional --tolerance 1e-2 --quiet --omega " + omega).json();
    json.erase("provenance");
    return json.dump();
  };
  const std::string expected = records("0");
  for (const std::string omega : {"-0", "-0.0", "-0e3"}) CHECK(records(omega) == expected);
  CHECK(expected.find("-0.0,") == std::string::npos);
}

TEST_CASE("branches: a list of words, each once, or all by itself") {
  check_refused("phase solve", {{"--branch semantic,semantic", {"--branch", "'semantic,semantic'", "once"}},
                                {"--branch all,semantic", {"--branch", "'all,semantic'", "all by itself"}},
                                {"--branch semantic,", {"--branch", "''", "positional"}},
                                {"--branch semantic,mixed", {"--branch", "'mixed'", "--rank 2"}},
                                {"--branch uninformed,positional --positional-matrix 0,0",
                                 {"--positional-matrix", "zero", "--branch positional"}}});
  check_refused("phase sweep", {{"--branch semantic,semantic", {"--branch", "once"}},
                                {"--branch positional,all", {"--branch", "all by itself"}}});
  const std::string quick = "phase solve --alpha 1.2 --tolerance 1e-2 --quiet ";
  TemporaryFile file("branches.json");
  REQUIRE(run(quick + "--branch uninformed,semantic -o " + file.path).code == 0);
  auto expected = nlohmann::ordered_json::parse(file.content());
  CHECK(expected["parameters"]["branch"] == nlohmann::json({"semantic", "uninformed"}));
  REQUIRE(expected["records"].size() == 2);
  CHECK(expected["records"][0]["branch"] == "semantic");
  // Not all branches were solved.
  for (const auto& record : expected["records"]) CHECK(!record.contains("global_minimum"));
  expected.erase("provenance");
  for (const std::string& line :
       {"phase solve --quiet --config " + file.path, quick + "--branch semantic,uninformed"}) {
    auto found = run(line).json();
    found.erase("provenance");
    CHECK(found.dump() == expected.dump());
  }
  // One word stays a word, as results have it that were written before lists.
  for (const std::string word : {"all", "semantic"}) {
    TemporaryFile one("one_branch.json", R"({"schema": "qksolve.phase.solve/1", "parameters": {"branch": ")" +
                                             word + R"(", "alpha": [1.2], "tolerance": 0.01}})");
    const Run r = run("phase solve --quiet --config " + one.path);
    CHECK(r.code == 0);
    CHECK(r.json()["parameters"]["branch"] == word);
    CHECK(r.json()["records"].size() == (word == "all" ? 3 : 1));
  }
}

TEST_CASE("a branch that is not there counts where it was asked for by name") {
  // At alpha = .1 there is no semantic branch.
  const std::string quick = "phase solve --alpha 0.1 --tolerance 1e-2 --quiet --branch ";
  for (const auto& [branches, code] :
       {std::pair("all", 0), std::pair("semantic", 3), std::pair("semantic,uninformed", 3),
        std::pair("semantic,positional,uninformed", 3), std::pair("uninformed", 0)}) {
    CAPTURE(branches);
    CHECK(run(quick + branches).code == code);
  }
  CHECK(run("phase sweep --alpha 0.1,0.2 --omega 0.3 --tolerance 1e-2 --quiet --branch semantic,uninformed")
            .code == 0);
}

TEST_CASE("integers are plain decimal") {
  check_refused("phase solve", {{"--seed -1", {"--seed", "'-1'", "0 to 9223372036854775807"}},
                                {"--seed 010", {"--seed", "'010'"}},
                                {"--seed 0x2", {"--seed", "'0x2'"}},
                                {"--seed 99999999999999999999", {"--seed", "0 to 9223372036854775807"}},
                                {"--threads 1e3", {"--threads", "'1e3'", "1 to 1024"}},
                                {"--threads 0", {"--threads", "'0'", "1 to 1024"}},
                                {"--max-iterations 0", {"--max-iterations", "'0'"}},
                                {"--max-iterations 1.5", {"--max-iterations", "'1.5'"}}});
}

TEST_CASE("grids") {
  check_refused("phase solve", {{"--alpha 0.1:2:1", {"--alpha", "0.1:2:1"}},
                                {"--alpha 2:1:5", {"--alpha", "'2:1:5'", "start < stop"}},
                                {"--alpha 1:1:5", {"--alpha", "start < stop"}},
                                {"--alpha 1:2", {"--alpha", "start:stop:count"}},
                                {"--alpha 1:2:3:4", {"--alpha", "start:stop:count"}},
                                {"--alpha 1:2:2.5", {"--alpha", "1:2:2.5"}},
                                {"--omega 0:1.5:3", {"--omega", "[0, 1]"}},
                                {"--alpha 1:1e308:25", {"--alpha", "told apart"}},
                                {"--alpha 1:1.0000000000000002:9", {"--alpha", "told apart"}},
                                {"--alpha 1:2:1000001", {"--alpha", "2 to 1000000"}},
                                {"--alpha 1:2:1000000 --omega 0:1:1000000",
                                 {"--alpha (1000000)", "--omega (1000000)", "at most 1000000"}}});
  check_refused("flow solve", {{"--ratio 1:2:1001 --times 0:1:1000", {"--ratio (1001)", "--times (1000)"}}});
}

TEST_CASE("matrices, words and starting points") {
  check_refused(
      "phase solve",
      {{"--teacher-matrix .6,.4,.4,.7", {"--teacher-matrix", "row 2", "0.4,0.7", "sum to 1"}},
       {"--teacher-matrix .6,.4,.4", {"--teacher-matrix", "'0.6,0.4,0.4'", "4 values", "[0, 1]"}},
       {"--teacher-matrix 1.5,-.5,.4,.6", {"--teacher-matrix", "'1.5'", "[0, 1]"}},
       {"--teacher-matrix .5,.4", {"--teacher-matrix", "row 1", "0.5,0.4", "sum to 1"}},
       {"--tokens 3 --teacher-matrix .6,.4,.4,.6", {"--teacher-matrix", "9 values", "--tokens 3"}},
       {"--tokens 1", {"--tokens", "'1'", "2 to 64"}},
       {"--sigma .5,.6,.7", {"--sigma", "'0.5,0.6,0.7'", "--tokens 2"}},
       {"--sigma .5,-1", {"--sigma", "'-1'"}},
       {"--rank 0", {"--rank", "'0'", "1 to 32"}},
       {"--rank 30", {"--rank", "62", "at most 60"}},
       {"--rank 2 --quadrature jump", {"--quadrature", "jump", "qmc"}},
       {"--rank 2 --start .1,.1,.1,10", {"--start", "--rank 1"}},
       {"--branch mixed", {"--branch", "'mixed'", "--rank 2"}},
       {"--branch positional --positional-matrix 0,0", {"--positional-matrix", "zero", "positional"}},
       {"--positional-matrix 1,2,3", {"--positional-matrix", "'1,2,3'", "multiple of 2"}},
       {"--branch spiritual", {"--branch", "'spiritual'", "positional"}},
       {"--quadrature gauss", {"--quadrature", "'gauss'", "qmc"}},
       {"--start 1,2,3", {"--start", "'1,2,3'", "q,m,theta,V"}},
       {"--start 1,x,0,1", {"--start", "'x'", "a real number of any size"}},
       {"--start -1,0,0,1", {"--start", "q > 0"}},
       {"--start .1,0,.3,10", {"--start", "theta^2"}},
       {"--progress maybe", {"--progress", "'maybe'", "never"}},
       {"--trace=maybe", {"--trace", "'maybe'", "true, false"}}});
  check_refused("phase simulate",
                {{"--teacher-matrix .6,.4,.4,.7", {"--teacher-matrix", "row 2", "0.4,0.7"}},
                 {"--alpha 1:2:100 --instances 10001", {"--instances", "'10001'", "1000000"}}});
  check_refused("phase critical", {{"--which alpha_x", {"--which", "'alpha_x'", "alpha_c"}},
                                   {"--which alpha_c,alpha_c", {"--which", "once"}},
                                   {"--alpha-range 2:1", {"--alpha-range", "'2:1'", "low < high"}},
                                   {"--alpha-range 2", {"--alpha-range", "low:high"}},
                                   {"--alpha-range 1,2", {"--alpha-range", "'1,2'", "low:high"}},
                                   {"--alpha-range 0:1", {"--alpha-range", "'0'", "> 0"}}});
}

TEST_CASE("words that are not options, options without their value or given twice") {
  check_refused("phase solve", {{"--omgea 0.3 --bogus", {"'--omgea'", "did you mean '--omega'"}},
                                {"--completely-different=1", {"'--completely-different=1'"}},
                                {"-q", {"'-q'"}},
                                {"stray 2", {"'stray'"}},
                                {"-- --alpha", {"--alpha"}},
                                {"--alpha", {"--alpha", "value is missing"}},
                                {"--alpha --omega 0.3", {"--alpha", "value is missing"}},
                                {"-o --quiet", {"--output", "value is missing"}},
                                {"-o -", {"--output", "'-'", "name of a file"}},
                                {"--alpha= 0.5", {"--alpha: ''", "LIST|GRID", "after '='"}},
                                {"--trace= true", {"--trace: ''", "true or false"}},
                                {"--alpha -x", {"--alpha", "'-x'", "> 0"}},
                                {"--trace=", {"--trace: ''", "true or false"}},
                                {"--alpha 1 --alpha 1", {"--alpha", "more than once"}},
                                {"--config a --config b", {"--config", "more than once"}}});
  CHECK_FALSE(run("phase solve --completely-different").says("did you mean"));
  check_refused("compare", {{"", {"'a'", "missing"}},
                            {"x.json", {"'b'", "missing"}},
                            {"x.json y.json z.json", {"'z.json'"}},
                            {"x.json y.json --sigmas 0", {"--sigmas", "'0'", "> 0"}},
                            {"--sigmas= x.json y.json", {"--sigmas: ''", "REAL"}},
                            {"x.json y.json --sigmas nan", {"--sigmas", "'nan'", "> 0"}}});
}

TEST_CASE("no message is a library's") {
  check_refused("schema", {{"", {"the word 'name' is missing"}}, {"x", {"'x'", "phase.solve"}}});
  check_refused("phase critical", {{"--between semantic", {"--between", "'semantic'", "two branches"}}});
  check_refused("flow simulate",
                {{"--preset fig2 --classes 5", {"--classes", "'5'", "--preset fig2", "expected 4"}},
                 {"--preset fig3 --query shared", {"--query", "shared", "per-class"}}});
}

TEST_CASE("a message is one short line without control characters, whatever was typed") {
  check_refused({"phase", "solve", "--alpha", "1\n2"}, {"'1\\x0a2'"});
  check_refused({"phase", "solve", "--branch", "\x1b[31m"}, {"'\\x1b[31m'"});
  const Run r = run(std::vector<std::string>{"phase", "solve", "--alpha", std::string(100000, '1') + "x"});
  CHECK(r.code == 2);
  CHECK(r.err.size() < 400);
  CHECK(r.says("--alpha: '11"));
  CHECK(r.says("expected a real number > 0"));
}

TEST_CASE("commands") {
  const std::vector<Refusal> refusals{{"", {"phase, flow, coupled, deep, compare"}},
                                      {"--alpha 1 phase solve", {"'--alpha'"}},
                                      {"phase", {"phase", "solve, critical"}},
                                      {"phase dissolve", {"'dissolve'", "did you mean 'solve'"}},
                                      {"fhase solve", {"'fhase'", "did you mean 'phase'"}}};
  for (const Refusal& refusal : refusals) check_refused(words(refusal.line), refusal.named);
  const Run version = run("--version");
  CHECK(version.code == 0);
  CHECK(version.out.find("qksolve 0.") == 0);
  for (const std::string line :
       {"--help", "phase --help", "phase solve --help", "phase critical --help", "coupled solve --help"}) {
    const Run help = run(line);
    CHECK(help.code == 0);
    CHECK(help.err.empty());
  }
  const std::string help = run("phase solve --help").out;
  for (const std::string text : {"default 0.3", "[0, 1]", "Example: qksolve phase solve"})
    CHECK(help.find(text) != std::string::npos);
}
