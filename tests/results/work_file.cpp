#include "qksolve/results/work_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

using namespace qksolve::results;

namespace {

const char* const kPath = "test_work.jsonl";
const Json kHeader{{"schema", "qksolve.phase.sweep/1"},
                   {"parameters", {{"alpha", {1, 2}}, {"tolerance", 0.001}}}};

std::string content() {
  std::ifstream file(kPath, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::string& text) { std::ofstream(kPath, std::ios::binary) << text; }

struct Fresh {
  Fresh() { std::remove(kPath); }
  ~Fresh() { std::remove(kPath); }
};

std::string two_tasks() {
  WorkFile file(kPath, kHeader);
  file.add("a", {{"x", 1.5}, {"text", "brace } and \"quote\""}});
  file.add("b", Json::array({1, 2}));
  return content();
}

}  // namespace

TEST_CASE("what was added is there again, in a new run and for a reader") {
  const Fresh fresh;
  two_tasks();
  {
    const WorkFile file(kPath, kHeader);
    CHECK(file.size() == 2);
    CHECK(file.contains("a"));
    CHECK_FALSE(file.contains("header"));
    CHECK_FALSE(file.repaired());
  }
  WorkFileReader reader(kPath);
  CHECK(reader.header() == kHeader);
  CHECK(reader.value("a") == Json{{"x", 1.5}, {"text", "brace } and \"quote\""}});
  CHECK(reader.value("b") == Json::array({1, 2}));
}

TEST_CASE("cut at any byte, the complete lines are kept and the file can be continued") {
  const Fresh fresh;
  const std::string whole = two_tasks();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    write(whole.substr(0, bytes));
    const auto lines =
        static_cast<std::size_t>(std::count(whole.begin(), whole.begin() + static_cast<long>(bytes), '\n'));
    std::unique_ptr<WorkFile> file;
    REQUIRE_NOTHROW(file = std::make_unique<WorkFile>(kPath, kHeader));
    CHECK(file->size() == (lines > 0 ? lines - 1 : 0));
    if (!file->contains("a")) file->add("a", {{"x", 1.5}, {"text", "brace } and \"quote\""}});
    if (!file->contains("b")) file->add("b", Json::array({1, 2}));
    CHECK(content() == whole);
  }
}

TEST_CASE("a changed byte anywhere but in the last line's end is damage, with the number of the line") {
  const Fresh fresh;
  const std::string whole = two_tasks();
  for (std::size_t at = 0; at + 1 < whole.size(); at += 7) {
    std::string text = whole;
    text[at] = text[at] == 'q' ? 'Q' : 'q';
    write(text);
    const auto line = 1 + std::count(whole.begin(), whole.begin() + static_cast<long>(at), '\n');
    // A broken end of line makes two lines one: the damage is on the first of them.
    CHECK_THROWS_AS(WorkFile(kPath, kHeader), ContentError);
    try {
      WorkFile(kPath, kHeader);
    } catch (const ContentError& error) {
      CHECK(std::string(error.what()).find("line " + std::to_string(line)) != std::string::npos);
    }
    CHECK(content() == text);  // and the file is left alone
  }
}

TEST_CASE("another run's file is refused, with what is different; a foreign file, too") {
  const Fresh fresh;
  two_tasks();
  Json other = kHeader;
  other["parameters"]["tolerance"] = 0.01;
  CHECK_THROWS_WITH(WorkFile(kPath, other),
                    "test_work.jsonl: belongs to another run: tolerance is 0.001 in the file, expected 0.01");
  other = kHeader;
  other["schema"] = "qksolve.phase.sweep/2";
  CHECK_THROWS_WITH(
      WorkFile(kPath, other),
      "test_work.jsonl: belongs to another run: schema is \"qksolve.phase.sweep/1\" in the file, "
      "expected \"qksolve.phase.sweep/2\"");
  write("alpha,omega\n1,2\n");
  CHECK_THROWS_AS(WorkFile(kPath, kHeader), ContentError);
  write("precious notes without an end of line");
  CHECK_THROWS_AS(WorkFile(kPath, kHeader), ContentError);
  CHECK(content() == "precious notes without an end of line");
}

TEST_CASE("one writer at a time") {
  const Fresh fresh;
  const WorkFile file(kPath, kHeader);
  CHECK_THROWS_AS(WorkFile(kPath, kHeader), FileError);
}

TEST_CASE("a task's identity depends on all of its definition") {
  const Json a{{"alpha", 1.0}, {"omega", 0.3}}, b{{"alpha", 1.0}, {"omega", 0.30000000000000004}};
  CHECK(task_id(a) == task_id(Json(a)));
  CHECK(task_id(a) != task_id(b));
  CHECK(task_id(a).size() == 16);
}
