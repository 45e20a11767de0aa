// Figures, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "run.hpp"

using namespace qksolve::test;

namespace {

const std::string kInputs = std::string(QKSOLVE_REFERENCE_DIR) + "/figures/";

// Not blank: a picture (PPM) with the many shades that lines and letters have at their edges.
void check_drawn(const std::string& picture) {
  TemporaryFile colours("colours.txt");
  REQUIRE(shell("ppmhist -noheader " + picture + " > " + colours.path) == 0);
  const std::string lines = colours.content();
  CHECK(std::count(lines.begin(), lines.end(), '\n') > 100);
}

}  // namespace

TEST_CASE("png, pdf and svg are drawn") {
  TemporaryFile png("figure.png"), pdf("figure.pdf"), svg("figure.svg"), ppm("figure.ppm");
  for (const TemporaryFile* file : {&png, &pdf, &svg}) {
    const Run r = run("plot " + kInputs + "solve.json " + kInputs + "simulate.json -o " + file->path);
    CHECK(r.code == 0);
    CHECK(r.err.empty());
    CHECK(r.out.empty());
  }
  REQUIRE(shell("pngtopnm " + png.path + " > " + ppm.path) == 0);
  check_drawn(ppm.path);
  REQUIRE(shell("pdftoppm -r 150 -singlefile " + pdf.path + " test_figure") == 0);
  check_drawn(ppm.path);
  CHECK(shell("/usr/bin/python3 -c \"import sys, xml.dom.minidom as m; "
              "sys.exit(len(m.parse('" +
              svg.path + "').getElementsByTagName('path')) < 50)\"") == 0);
}

TEST_CASE("every kind of figure is drawn without a word from gnuplot") {
  TemporaryFile flow("flow.json"), losses("losses.json"), full("full.json"), critical("critical.json"),
      sweep("sweep.json"), spectra("spectra.json"), figure("kinds.png");
  const std::string model = " --classes 4 --pool 1 --common 6 --common-per-sequence 6 --quiet -o ";
  REQUIRE(
      run("flow solve --parameterization all --ratio 0.1,1,2,3,4,5,6 --t-max 1e6" + model + flow.path).code ==
      0);
  REQUIRE(run("flow solve --ratio 0.1,10 --at-loss 1,0.1 --t-max 1e20" + model + losses.path).code == 0);
  REQUIRE(run("flow simulate --parameterization CACO,FAFO --d 12 --steps 20 --distinct-per-sequence 1 "
              "--test-sequences 50" +
              model + full.path)
              .code == 0);
  REQUIRE(
      run("phase critical --omega 0.3 --which alpha_c --tolerance 0.1 --quiet -o " + critical.path).code ==
      0);
  REQUIRE(run("phase sweep --alpha 1:2:3 --omega 0.3,0.4 --tolerance 1e-2 --quiet -o " + sweep.path).code ==
          0);
  REQUIRE(run("coupled solve --integrator euler,uncoupled --step-size 0.1,0.3 --context 8,16,32 "
              "--head-dimension 4 --draws 2 "
              "--states 8 --quiet -o " +
              spectra.path)
              .code == 0);
  for (const std::string& files :
       {sweep.path, spectra.path, flow.path, losses.path, full.path, critical.path, kInputs + "sweep.json",
        kInputs + "sweep.json " + critical.path, kInputs + "simulate.json",
        std::string(QKSOLVE_REFERENCE_DIR) + "/../../results/phase/finite_size.json"}) {
    CAPTURE(files);
    const Run r = run("plot " + files + " -o " + figure.path);
    CAPTURE(r.err);
    CHECK(r.code == 0);
    CHECK(r.err.empty());
  }
}

TEST_CASE(
    "--data-only: a script that makes the figure beside its table, whatever the working folder is called") {
  const std::filesystem::path folder = "test folder";
  std::filesystem::create_directory(folder);
  const Run r = run(std::vector<std::string>{"plot", kInputs + "sweep.json", "-o", "test folder/a figure.png",
                                             "--data-only"});
  CHECK(r.code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "a figure.png"));
  CHECK(shell("cd 'test folder' && gnuplot 'a figure.gp'") == 0);
  CHECK(std::filesystem::file_size(folder / "a figure.png") > 1000);
  std::filesystem::remove_all(folder);
}

TEST_CASE("plot: bad input") {
  const std::string input = kInputs + "solve.json";
  TemporaryFile empty(
      "empty.json", R"({"schema": "qksolve.phase.solve/1", "parameters": {}, "records": [], "summary": {}})"),
      comparison("comparison.json",
                 R"({"schema": "qksolve.compare/1", "parameters": {}, "records": [], "summary": {}})"),
      truncated("truncated.json", "{\"schema\": \"qksolve.ph");
  struct Refusal {
    std::string line;
    int code;
    std::vector<std::string> named;
  };
  for (const Refusal& refusal : std::vector<Refusal>{
           {"plot", 2, {"files"}},
           {"plot " + input, 2, {"--output", ".svg"}},
           {"plot " + input + " -o figure", 2, {"--output", "'figure'", ".png"}},
           {"plot " + input + " -o figure.jpg", 2, {"--output", "'figure.jpg'", ".pdf"}},
           {"plot " + empty.path + " -o figure.svg", 2, {empty.path, "nothing to draw"}},
           {"plot " + comparison.path + " -o figure.svg",
            2,
            {comparison.path, "compare has no figure", "phase.sweep"}},
           {"plot " + truncated.path + " -o figure.svg", 2, {truncated.path}},
           {"plot nothing.json -o figure.svg", 4, {"nothing.json"}},
           {"plot " + input + " -o /nonexistent/figure.svg", 4, {"/nonexistent/figure.svg"}},
           {"plot " + input + " -o /nonexistent/figure.svg --data-only", 4, {"/nonexistent/figure"}}}) {
    CAPTURE(refusal.line);
    const Run r = run(refusal.line);
    CAPTURE(r.err);
    CHECK(r.code == refusal.code);
    CHECK(r.one_line());
    for (const std::string& text : refusal.named) CHECK(r.says(text));
    CHECK_FALSE(std::filesystem::exists("figure.svg"));
  }
  std::filesystem::copy_file(input, "test_input.svg", std::filesystem::copy_options::overwrite_existing);
  CHECK(run("plot test_input.svg -o test_input.svg").code == 2);
  CHECK(std::filesystem::file_size("test_input.svg") == std::filesystem::file_size(input));
  std::filesystem::remove("test_input.svg");
}

TEST_CASE("without gnuplot the package is named, and nothing is left behind") {
  TemporaryFile message("message.txt");
  std::filesystem::create_directory("test_bare");
  CHECK(shell("cd test_bare && PATH=/nonexistent " + std::string(QKSOLVE_BINARY) + " plot " + kInputs +
              "solve.json -o figure.svg 2> ../" + message.path) == 2);
  CHECK(message.content().find("gnuplot-nox") != std::string::npos);
  CHECK(std::filesystem::is_empty("test_bare"));
  std::filesystem::remove_all("test_bare");
}

TEST_CASE("plot: no text of a result and no name of a file is run as a command") {
  const std::filesystem::path folder = std::filesystem::absolute("test_foreign");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string touch = "touch " + (folder / "ran").string();
  nlohmann::ordered_json json;
  std::ifstream(kInputs + "solve.json") >> json;
  for (const std::string& text :
       std::vector<std::string>{"`" + touch + "`", "x\n!" + touch + "\n#",
                                "\"; system(\"" + touch + "\"); \"", "\x1b[31m\\ {/:Bold x"}) {
    CAPTURE(text);
    json["records"][0]["branch"] = text;
    const std::string input = folder / "`touch ran`.json";
    std::ofstream(input) << json;
    for (const std::string name :
         {"plain", "`touch ran`", "|touch ran;", "<touch ran;", "-e", "two\nlines", "a\"'\\b"}) {
      CAPTURE(name);
      const std::filesystem::path figure = folder / (name + ".svg");
      CHECK(run(std::vector<std::string>{"plot", input, kInputs + "solve.json", "-o", figure}).code == 0);
      CHECK(std::filesystem::file_size(figure) > 1000);
      std::filesystem::remove(figure);
      CHECK(run(std::vector<std::string>{"plot", input, "--data-only", "-o", figure}).code == 0);
      std::filesystem::rename(folder / (name + ".gp"), folder / "script.gp");
      CHECK(shell("cd test_foreign && gnuplot script.gp 2>/dev/null") == 0);
      CHECK(std::filesystem::file_size(figure) > 1000);
      std::filesystem::remove(figure);
    }
  }
  CHECK_FALSE(std::filesystem::exists(folder / "ran"));
  CHECK_FALSE(std::filesystem::exists("ran"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("plot --data-only: script and table that are one file through a link are refused") {
  TemporaryFile script("linked.gp"), table("linked.dat");
  std::filesystem::remove(table.path);
  std::filesystem::create_symlink(script.path, table.path);
  const Run r = run("plot " + kInputs + "solve.json --data-only -o test_linked.svg");
  CHECK(r.code == 2);
  CHECK(r.says("one file"));
}
