#include "qksolve/phase/report/sweep.hpp"

#include <doctest/doctest.h>

using namespace qksolve::results;

TEST_CASE("kept records that are not those of their task are refused, with file, task and key") {
  const Sweep sweep({{"alpha", {1, 2}}, {"omega", {0.3}}, {"branch", "semantic"}});
  const Json good = Json::parse(R"([
    {"alpha": 1, "branch": "semantic", "status": "branch_changed"},
    {"alpha": 2, "branch": "semantic", "status": "converged", "train_loss": 1, "train_loss_error": 0,
     "gen_error": 1, "gen_error_error": 0, "gen_error_linear": 1}])");
  CHECK(sweep.records(0, good, "kept") == good.get<std::vector<Json>>());
  auto refusal = [&](const Json& kept) -> std::string {
    try {
      sweep.records(0, kept, "kept");
    } catch (const ContentError& error) {
      return error.what();
    }
    return "";
  };
  auto changed = [&](const char* path, const Json& value) {
    Json kept = good;
    kept[Json::json_pointer(path)] = value;
    return refusal(kept);
  };
  CHECK(changed("/1/gen_error_linear", nullptr) ==
        "kept: task omega 0.3 semantic: record 2 has no 'gen_error_linear', or one of another kind");
  CHECK(changed("/0/status", 1).find("'status'") != std::string::npos);
  CHECK(changed("/1/gen_error_linear_error", "x").find("'gen_error_linear_error'") != std::string::npos);
  CHECK(changed("/0/alpha", 2).find("another alpha or branch") != std::string::npos);
  CHECK(changed("/0/branch", "positional").find("another alpha or branch") != std::string::npos);
  CHECK(changed("/0", 1).find("record 1") != std::string::npos);
  for (const char* text : {"[]", "{}", "7", "[{}, {}, {}]"})
    CHECK(refusal(Json::parse(text)).find("expected a list of 2 records") != std::string::npos);
}
