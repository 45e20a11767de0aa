// Text that others wrote: on a terminal, in a script, as JSON.
#include <doctest/doctest.h>

#include <algorithm>

#include "qksolve/results/fields.hpp"
#include "qksolve/results/figures/figure.hpp"
#include "qksolve/results/json_text.hpp"
#include "qksolve/results/printable.hpp"

using namespace qksolve::results;

namespace {

std::string refusal(const std::string& text, const std::vector<std::string>& known = {},
                    std::size_t line = 1) {
  try {
    parse_json("file", text, known, line);
  } catch (const ContentError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The script and the table of a figure with this text in every place that takes one.
std::string script_with(const std::string& text) {
  Figure figure;
  figure.panels.push_back(
      {text, "x", "y", {}, {{text, {"x", "y"}, {{1, 2}}, {"using 1:2 with points"}}}, ""});
  figure.key.push_back({text, "with points"});
  return gnuplot_script(figure, text + ".svg", text + ".dat") + gnuplot_table(figure);
}

}  // namespace

TEST_CASE("printable text has no control character and is one line; other text is itself") {
  CHECK(printable("a\x1b[31m\n\t\x7f") == "a\\x1b[31m\\x0a\\x09\\x7f");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\xc2\\x9b2J");  // the one-letter form of escape and bracket
  CHECK(printable("ω = 0.3, é \xff") == "ω = 0.3, é \xff");
  CHECK(printable(std::string(1, '\0')) == "\\x00");
}

TEST_CASE("no text of a figure or name of a file adds a line, a backtick or an unescaped quote to a script") {
  const std::string plain = script_with("word");
  const auto lines = std::count(plain.begin(), plain.end(), '\n');
  for (const std::string text : {"`touch x`", "a\nb", "a\rb", "\n\n\n# 1", "EOD\n!touch x"}) {
    const std::string script = script_with(text);
    CHECK(std::count(script.begin(), script.end(), '\n') == lines);
    CHECK_FALSE(contains(script.substr(0, script.find("unset multiplot")), "`"));
    CHECK_FALSE(contains(script, "\r"));
  }
  CHECK(contains(script_with("\"; system(\"x\"); \""), "\\\"; system(\\\"x\\\"); \\\""));
  CHECK(contains(script_with("a\\"), "\"a\\\\.svg\""));
  for (const std::string name : {"|command", "<command", "-e", "~x"})
    CHECK(contains(script_with(name), "set output \"./" + name + ".svg\""));
}

TEST_CASE("JSON: repeated and unknown keys are refused with their line, as what is not JSON") {
  CHECK(refusal("{\"a\": 1,\n \"b\": {\"c\": 1,\n \"c\": 2}}") == "file: line 3: the key 'c' is given twice");
  CHECK(refusal("{\n\"a\": 1, \"x\": 2}", {"a", "b"}) ==
        "file: line 2: unknown key 'x', expected one of a, b");
  CHECK(refusal("{\"a\": {\"x\": 2}, \"b\": [{\"x\": 1}, {\"x\": 1}]}", {"a", "b"}).empty());
  CHECK(contains(refusal("{\"a\":\n\n 1,}"), "file: line 3 is not valid JSON"));
  CHECK(contains(refusal("{\"a\": 1,\n \"a\": 2}", {}, 7), "line 8"));
  CHECK(contains(refusal("[1,\n 1e400]"), "line 2 is not valid JSON, a number is out of range"));
  CHECK(contains(refusal(std::string(200, '[')), "nested too deeply"));
  CHECK(parse_json("file", "{\"a\": [1, \"x\"]}") == Json{{"a", {1, "x"}}});
}

TEST_CASE("a result has no other keys than those of a result, and says in words whether it is complete") {
  const std::string head = R"({"schema": "qksolve.x/1",)";
  CHECK_THROWS_WITH(parse_result("f", head + "\n\"record\": []}"),
                    doctest::Contains("line 2: unknown key 'record'"));
  CHECK_THROWS_WITH(parse_result("f", head + R"("complete": "no"})"),
                    doctest::Contains("'complete' is \"no\""));
  CHECK_THROWS_WITH(parse_result("f", head + R"("missing": [1]})"), doctest::Contains("'missing'"));
  CHECK_FALSE(incompleteness(parse_result("f", head + R"("records": []})")));
  CHECK(incompleteness(parse_result("f", head + R"("complete": false, "missing": ["a", "b"]})")) ==
        "2 parts are missing: a; b");
  CHECK(incompleteness(parse_result("f", head + R"("complete": false})")) == "it is incomplete");
  CHECK(missing_parts(std::vector<std::string>(9, "x")) == "9 parts are missing: x; x; x; x; x; x; ...");
}

TEST_CASE("a field of another kind is named with its row and what is expected") {
  const Json result{{"records", {{{"alpha", 1}}, {{"alpha", "one"}}}},
                    {"summary", {{"groups", {{{"d", true}}}}}}};
  try {
    number_field(result["records"][1], "alpha");
    FAIL("no refusal");
  } catch (const FieldError& error) {
    CHECK(place_of_row(result, error.row()) + error.what() ==
          "records, row 2: key 'alpha' is \"one\", expected a number");
  }
  CHECK(place_of_row(result, &result["summary"]["groups"][0]) == "summary.groups, row 1: ");
  CHECK_THROWS_WITH(word_field(result["records"][0], "branch"), "key 'branch' is missing, expected a word");
  CHECK_THROWS_AS(number_field(Json(3), "d"), FieldError);
  CHECK(flag_field(result["records"][0], "global_minimum", false) == false);
  CHECK_THROWS_AS(flag_field(result["records"][1], "alpha", false), FieldError);
}
