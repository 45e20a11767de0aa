// qksolve coupled train, through the program: records, resumption, what is refused.
#include <doctest/doctest.h>

#include <filesystem>

#include "run.hpp"

using namespace qksolve::test;
using nlohmann::ordered_json;

namespace {

// A folder for one test, empty at its beginning and gone at its end.
struct Folder {
  std::string path;
  explicit Folder(const std::string& name) : path("test_" + name) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(*this / name) << content;
  }
};

}  // namespace

TEST_CASE("without its companion the command says what is missing") {
  const Folder folder("alone");
  REQUIRE(shell(std::string("cp ") + QKSOLVE_BINARY + " " + folder.path) == 0);
  const TemporaryFile err("alone.err");
  CHECK(shell(folder / "qksolve" + " coupled train --help > /dev/null 2> " + err.path) == 2);
  CHECK(err.content().find("libtorch-dev") != std::string::npos);
  CHECK(err.content().find('\n') == err.content().size() - 1);
}

#ifdef QKSOLVE_TRAINING

namespace {

const std::string kModel = "--difficulty easy --d 16 --batch 4 --evaluate-every 4 --validation 8 ";
const std::string kSmall = kModel + "--steps 12 ";

// The program as a process of its own: qksolve becomes qksolve-train.
Run train(const std::string& arguments) {
  const TemporaryFile out("train.out"), err("train.err");
  const int code = shell(std::string(QKSOLVE_BINARY) + " coupled train " + arguments + " > " + out.path +
                         " 2> " + err.path);
  return {code, out.content(), err.content()};
}

std::string without_provenance(ordered_json json) {
  json.erase("provenance");
  return json.dump();
}

std::string without_provenance_of(const std::string& path) {
  std::ifstream file(path);
  return without_provenance(ordered_json::parse(file));
}

bool valid(const ordered_json& result) {
  const TemporaryFile schema("train_schema.json", run("schema coupled.train").out),
      file("train.json", result.dump());
  return shell(std::string(QKSOLVE_VALIDATE) + " " + schema.path + " " + file.path) == 0;
}

}  // namespace

TEST_CASE("coupled train: a record per variant, number of steps and seed") {
  const Run r = train(kSmall + "--coupling-steps 1,2 --seeds 2 --trajectory --quiet");
  REQUIRE(r.code == 0);
  CHECK(r.err.empty());
  const ordered_json json = r.json();
  CHECK(valid(json));
  CHECK(json["schema"] == "qksolve.coupled.train/1");
  CHECK(json["provenance"]["argv"][0] == "qksolve");
  CHECK(json["provenance"]["argv"][2] == "train");
  CHECK(json["provenance"]["measurements"]["tokens_per_second"].size() == 8);
  CHECK(json["records"].size() == 16);  // (2 without steps + 3 with two numbers of steps) x 2 seeds
  CHECK(json["trace"].size() == 16 * 3);
  CHECK(json["summary"]["variants"].size() == 8);
  CHECK(json["parameters"]["pairs"] == 4);
  CHECK_FALSE(json["parameters"].contains("corpus"));
  for (const auto& record : json["records"]) {
    CHECK(record["tokens"] == 12 * 4 * 32);
    CHECK(record.contains("step_size_2") == record.contains("coupling_steps"));
    CHECK(record["entropy_1"].get<double>() < std::log(32.0));
  }
  // The threads share nothing, and a result repeats itself.
  const TemporaryFile again("again.json", r.out);
  for (const std::string& line :
       {kSmall + "--coupling-steps 1,2 --seeds 2 --trajectory --threads 1", "--config " + again.path})
    CHECK(without_provenance(train(line + " --quiet").json()) == without_provenance(json));
}

TEST_CASE("coupled train: a killed run goes on to the same bytes, from its work file and its checkpoints") {
  const Folder folder("killed");
  const std::string line =
      kModel + "--variant standard,leapfrog --seeds 2 --steps 300 --checkpoint-every 7 --threads 1 --quiet ";
  REQUIRE(train(line + "-o " + (folder / "whole.json")).code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "whole.json.checkpoints"));
  // Killed while its third run is under way, and then again in the fourth.
  for (const std::string run : {"leapfrog-n1-seed0", "leapfrog-n1-seed1"})
    shell(std::string(QKSOLVE_BINARY) + " coupled train " + line + "-o " + (folder / "cut.json") +
          " & while kill -0 $! 2> /dev/null && [ ! -e " + (folder / "cut.json.checkpoints/") + run +
          ".pt ]; do sleep 0.01; done; kill -9 $!; wait $! 2> /dev/null; true");
  CHECK(std::filesystem::exists(folder / "cut.json.work.jsonl"));
  CHECK_FALSE(std::filesystem::exists(folder / "cut.json"));
  const Run rest =
      train(kModel + "--variant standard,leapfrog --seeds 2 --steps 300 --checkpoint-every 50 -o " +
            (folder / "cut.json"));
  CHECK(rest.code == 0);
  CHECK(rest.says("3 of 4 tasks are finished"));
  CHECK(without_provenance_of(folder / "cut.json") == without_provenance_of(folder / "whole.json"));
  CHECK_FALSE(std::filesystem::exists(folder / "cut.json.work.jsonl"));
  CHECK_FALSE(std::filesystem::exists(folder / "cut.json.checkpoints"));
}

TEST_CASE("coupled train: a work file takes further seeds and variants, not another training") {
  const Folder folder("further");
  const std::string file = " --quiet --resume " + (folder / "w.jsonl");
  REQUIRE(train(kSmall + "--variant standard --seeds 1" + file).code == 0);
  const Run more = train(kSmall + "--variant standard,euler --seeds 2" + file);
  CHECK(more.code == 0);
  CHECK(without_provenance(more.json()) ==
        without_provenance(train(kSmall + "--variant standard,euler --seeds 2 --quiet").json()));
  const Run other = train(kSmall + "--variant standard --learning-rate 0.002" + file);
  CHECK(other.code == 2);
  CHECK(other.one_line());
  CHECK(other.says("learning_rate is 0.001 in the file, expected 0.002"));
}

TEST_CASE("coupled train: a loss that is not finite ends the run and keeps its last checkpoint") {
  const Folder folder("non_finite");
  // Weights of size 1e3 times the step: attention overflows after a few.
  const std::string model =
      kModel + "--steps 2000 --variant standard --weight-decay 0 --checkpoint-every 1 --quiet ";
  const std::string line = model + "--learning-rate 3e5 ";
  const Run r = train(line + "--checkpoints " + (folder / "c"));
  CHECK(r.code == 3);
  const ordered_json json = r.json();
  CHECK(valid(json));
  CHECK(json["records"][0]["status"] == "non_finite");
  CHECK_FALSE(json["records"][0].contains("loss"));
  CHECK(json["summary"]["variants"][0]["converged"] == 0);
  const std::string checkpoint = folder / "c/standard-seed0.pt";
  REQUIRE(std::filesystem::exists(checkpoint));

  // Of another configuration, and damaged.
  const Run other = train(model + "--checkpoints " + (folder / "c"));
  CHECK(other.code == 2);
  CHECK(other.one_line());
  CHECK(other.says(checkpoint +
                   ": belongs to another run: learning_rate is 300000.0 in the file, expected 0.001"));
  std::filesystem::resize_file(checkpoint, std::filesystem::file_size(checkpoint) / 2);
  const Run damaged = train(line + "--checkpoints " + (folder / "c"));
  CHECK(damaged.code == 2);
  CHECK(damaged.one_line());
  CHECK(damaged.says(checkpoint));
}

TEST_CASE(
    "coupled train: a run that has finished is kept when another one fails, and bad checkpoints are found at "
    "once") {
  const Folder folder("failing");
  std::filesystem::create_directory(folder / "c");
  folder.write("c/euler-n1-seed0.pt", "junk");
  const std::string line = kSmall + "--variant standard,euler --threads 1 --checkpoints " + (folder / "c") +
                           " -o " + (folder / "r.json");
  const Run r = train(line);
  CHECK(r.code == 2);
  CHECK(r.one_line());
  CHECK(r.says("euler-n1-seed0.pt"));
  CHECK_FALSE(std::filesystem::exists(folder / "r.json.work.jsonl"));
  // A checkpoint that cannot be written: the first run finishes before it would need one, the second has to.
  std::filesystem::remove(folder / "c/euler-n1-seed0.pt");
  std::filesystem::create_directory(folder / "c/euler-n1-seed0.pt");
  const Run blocked = train(line);
  CHECK(blocked.code == 4);
  CHECK(blocked.says("euler-n1-seed0.pt"));
  std::filesystem::remove(folder / "c/euler-n1-seed0.pt");
  CHECK(train(line).code == 0);
  CHECK(std::filesystem::is_empty(folder / "c"));  // a folder of the user stays
}

TEST_CASE("coupled train: text, by words and by bytes") {
  const Folder folder("text");
  for (int i = 0; i < 12; ++i) {
    std::string text;
    for (int k = 0; k < 40; ++k)
      text += "The " + std::to_string((i * k) % 7) + " birds of spring sang to the sea. ";
    folder.write("document" + std::to_string(i), text + "\n");
  }
  folder.write(".hidden", std::string("\xff"));
  const std::string line =
      "--task text --corpus " + folder.path +
      " --context 16 --d 16 --batch 2 --steps 6 --evaluate-every 3 --variant standard,differential --quiet ";
  const Run words = train(line + "--seeds 2");
  REQUIRE(words.code == 0);
  const ordered_json json = words.json();
  CHECK(valid(json));
  CHECK(json["summary"]["corpus"]["documents"] == 12);
  CHECK(json["summary"]["corpus"]["vocabulary"] ==
        17);  // 9 words, 7 numbers (without doubles), stop, two marks
  CHECK(json["records"][0]["perplexity"].get<double>() ==
        doctest::Approx(std::exp(json["records"][0]["loss"].get<double>())).epsilon(1e-12));
  CHECK_FALSE(json["parameters"].contains("pairs"));
  const Run bytes = train(line + "--level byte --shuffle-sentences");
  REQUIRE(bytes.code == 0);
  CHECK(valid(bytes.json()));
  CHECK(bytes.json()["summary"]["corpus"]["vocabulary"] == 256);
  const TemporaryFile config("text_config.json", words.out);
  CHECK(without_provenance(train("--quiet --config " + config.path).json()) == without_provenance(json));
}

TEST_CASE("coupled train refuses what it cannot do, in one line") {
  const Folder folder("refused");
  folder.write("binary", std::string("a\0b\n\nc", 6));
  folder.write("short", "One.\n\nTwo.\n");
  folder.write("single", "One paragraph.\n");
  const struct {
    std::string line;
    int code;
    std::vector<std::string> says;
  } cases[] = {
      {"--task text", 2, {"--corpus"}},
      {"--task text --corpus " + (folder / "nothing"), 4, {folder / "nothing"}},
      {"--task text --corpus " + (folder / "binary"), 2, {folder / "binary", "UTF-8"}},
      {"--task text --corpus " + (folder / "short"), 2, {folder / "short", "at least 257"}},
      {"--task text --corpus " + (folder / "single"), 2, {folder / "single", "at least 2"}},
      {"--vocabulary 16", 2, {"--vocabulary", "16", "--pairs 8", "at least 18"}},
      {"--pairs 17", 2, {"--pairs", "17", "--context 64", "a quarter"}},
      {"--heads 3", 2, {"--heads", "3", "--d 64", "divisor"}},
      {"--d 6 --heads 2 --variant standard", 2, {"--heads", "--d 6", "even"}},
      {"--d 12 --heads 2", 2, {"--heads", "--d 12", "multiple of 4"}},
      {"--corpus x", 2, {"--corpus", "--task text"}},
      {"--task text --corpus x --pairs 3", 2, {"--pairs", "--task mqar"}},
      {"--task text --corpus x --level byte --vocabulary 100", 2, {"--vocabulary", "--level word"}},
      {"--checkpoint-every 5", 2, {"--checkpoint-every", "-o FILE"}},
      {"--variant coupled", 2, {"--variant", "coupled", "leapfrog"}},
      {"--steps 0", 2, {"--steps", "1 to"}},
      {"--learning-rate nan", 2, {"--learning-rate", "nan"}},
      {"--stepsize 1", 2, {"--stepsize", "--step-size"}},
      {kSmall + "-o /nonexistent/x.json", 4, {"/nonexistent/x.json"}},
      {kSmall + "--resume /dev/null", 4, {"/dev/null", "not a regular file"}},
      {kSmall + "-o " + (folder / "y.json") + " --csv " + (folder / "y.json.work.jsonl"),
       2,
       {"--csv", "work file"}},
      {"--task text --corpus " + (folder / "single") + " -o " + (folder / "single"),
       2,
       {"--output", "--corpus"}},
      {"--task text --corpus " + folder.path + " -o " + (folder / "x.json"),
       2,
       {"--output", "lies in the corpus"}},
      {"--task text --corpus " + folder.path + " --checkpoints " + (folder / "c"),
       2,
       {"--checkpoints", "lies in the corpus"}},
      {"--seeds 2 --seed 9223372036854775807", 2, {"--seeds", "9223372036854775807"}},
      {"--difficulty hard --context 64 --pairs 4 --vocabulary 64", 2, {"--difficulty", "hard"}},
      {"--embedding-scale 1e-40", 2, {"--embedding-scale", "1e-40"}},
      {"--learning-rate 1e38", 2, {"--learning-rate", "1e38"}},
      {kSmall + "--checkpoints /proc/none", 4, {"/proc/none"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.line);
    const Run r = train(c.line);
    CAPTURE(r.err);
    CHECK(r.code == c.code);
    CHECK(r.one_line());
    CHECK(r.out.empty());
    for (const std::string& text : c.says) CHECK(r.says(text));
  }
}

#endif
