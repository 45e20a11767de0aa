#include "qksolve/results/csv.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>

using namespace qksolve::results;

namespace {

std::string to_csv(const std::vector<Json>& records) {
  std::ostringstream out;
  write_csv(out, [&](const std::function<void(const Json&)>& emit) {
    for (const Json& record : records) emit(record);
  });
  return out.str();
}

}  // namespace

TEST_CASE("columns in order of first appearance, empty cells where a record lacks the key") {
  std::vector<Json> records(3);
  records[0] = {{"alpha", 0.5}, {"status", "converged"}, {"q", 1.25}};
  records[1] = {{"alpha", 1}, {"status", "failed"}, {"reason", "none"}};
  records[2] = {{"q", -2e-30}, {"stable", true}};
  CHECK(to_csv(records) ==
        "alpha,status,q,reason,stable\n"
        "0.5,converged,1.25,,\n"
        "1,failed,,none,\n"
        ",,-2e-30,,true\n");
  CHECK(to_csv({}).empty());
}

TEST_CASE("RFC 4180: cells with commas, quotes and line ends are quoted") {
  std::vector<Json> records(1);
  records[0] = {{"a,b", "x, y"}, {"c", "say \"no\""}, {"d", "two\nlines"}, {"e", " blank "}, {"f", ""}};
  CHECK(to_csv(records) ==
        "\"a,b\",c,d,e,f\n"
        "\"x, y\",\"say \"\"no\"\"\",\"two\nlines\", blank ,\n");
}

TEST_CASE("numbers read back as the same double") {
  for (const double x :
       {0.1, 1.0 / 3.0, std::nextafter(1.0, 2.0), -std::numeric_limits<double>::denorm_min(),
        std::numeric_limits<double>::max(), std::numeric_limits<double>::min(), 5e22, 1e15, 0.0}) {
    const std::string text = to_csv({{{"x", x}}});
    CHECK(Json::parse(text.substr(2)).get<double>() == x);
  }
}
