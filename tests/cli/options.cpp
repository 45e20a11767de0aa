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

void check_refused(const std::string& command, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.line);
    const Run r = run(command + " " + refusal.line);
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK(r.one_line());
    CHECK(r.out.empty());
    for (const std::string& text : refusal.named) CHECK(r.says(text));
  }
}

}  // namespace

TEST_CASE("reals are checked strictly") {
  check_refused("phase solve", {{"--omega 1.2", {"--omega", "'1.2'", "[0, 1]"}},
                                {"--omega -0.1", {"--omega", "'-0.1'", "[0, 1]"}},
                                {"--omega nan", {"--omega", "'nan'"}},
                                {"--sigma inf", {"--sigma", "'inf'", "> 0"}},
                                {"--sigma 0", {"--sigma", "'0'", "> 0"}},
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
  const Run empty = run(std::vector<std::string>{"phase", "solve", "--omega", ""});
  CHECK(empty.code == 2);
  CHECK(empty.says("--omega"));
  CHECK(run(std::vector<std::string>{"phase", "solve", "--omega="}).code == 2);
  CHECK(run(std::vector<std::string>{"phase", "solve", "--alpha", " 1"}).code == 2);
}

TEST_CASE("integers are plain decimal") {
  check_refused("phase solve", {{"--seed -1", {"--seed", "'-1'", ">= 0"}},
                                {"--seed 010", {"--seed", "'010'"}},
                                {"--seed 0x2", {"--seed", "'0x2'"}},
                                {"--seed 99999999999999999999", {"--seed"}},
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
                                {"--omega 0:1.5:3", {"--omega", "[0, 1]"}}});
}

TEST_CASE("matrices, words and starting points") {
  check_refused("phase solve",
                {{"--teacher-matrix .6,.4,.4,.7", {"--teacher-matrix", "row 2", "0.4,0.7", "sum to 1"}},
                 {"--teacher-matrix .6,.4,.4", {"--teacher-matrix", "4 values"}},
                 {"--teacher-matrix 1.5,-.5,.4,.6", {"--teacher-matrix", "'1.5'", "[0, 1]"}},
                 {"--branch spiritual", {"--branch", "'spiritual'", "positional"}},
                 {"--quadrature gauss", {"--quadrature", "'gauss'", "qmc"}},
                 {"--start 1,2,3", {"--start", "'1,2,3'", "q,m,theta,V"}},
                 {"--start -1,0,0,1", {"--start", "q > 0"}},
                 {"--start .1,0,.3,10", {"--start", "theta^2"}},
                 {"--progress maybe", {"--progress", "'maybe'", "never"}},
                 {"--bogus 1", {"--bogus"}},
                 {"stray", {"stray"}}});
  check_refused("phase critical", {{"--which alpha_x", {"--which", "'alpha_x'", "alpha_c"}},
                                   {"--which alpha_c,alpha_c", {"--which", "once"}},
                                   {"--alpha-range 2:1", {"--alpha-range", "'2:1'", "low < high"}},
                                   {"--alpha-range 2", {"--alpha-range", "low:high"}},
                                   {"--alpha-range 0:1", {"--alpha-range", "'0'", "> 0"}}});
}

TEST_CASE("commands") {
  for (const std::string line : {"", "phase", "phase dissolve", "fhase solve"}) {
    CAPTURE(line);
    const Run r = run(line);
    CHECK(r.code == 2);
    CHECK(r.one_line());
  }
  const Run version = run("--version");
  CHECK(version.code == 0);
  CHECK(version.out.find("qksolve 0.") == 0);
  for (const std::string line : {"--help", "phase --help", "phase solve --help", "phase critical --help"}) {
    const Run help = run(line);
    CHECK(help.code == 0);
    CHECK(help.err.empty());
  }
  const std::string help = run("phase solve --help").out;
  for (const std::string text : {"default 0.3", "[0, 1]", "Example: qksolve phase solve"})
    CHECK(help.find(text) != std::string::npos);
}

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

TEST_CASE("outputs that cannot be written are known before anything is computed") {
  for (const std::string path : {"/nonexistent/directory/x.json", "."}) {
    const Run r = run("phase solve --tolerance 1e-7 --alpha 0.01:5:1000 -o " + path);
    CHECK(r.code == 4);
    CHECK(r.one_line());
    CHECK(r.says(path));
  }
}
