#include "qksolve/results/same_model.hpp"

namespace qksolve::results {

namespace {

// `usual`: what all results had before they said so.
void require_same(const Json& a, const std::string& name_a, const Json& b, const std::string& name_b,
                  const std::vector<std::string>& keys, const Json& usual) {
  const Json& of_a = member(name_a, a, "parameters", "an object", &Json::is_object);
  const Json& of_b = member(name_b, b, "parameters", "an object", &Json::is_object);
  for (const std::string& key : keys) {
    auto value = [&](const Json& parameters, const std::string& name) {
      if (parameters.contains(key)) return parameters.at(key);
      if (!usual.contains(key)) throw ContentError(name + ": key 'parameters." + key + "' is missing");
      return usual.at(key);
    };
    const Json first = value(of_a, name_a), second = value(of_b, name_b);
    if (first != second)
      throw ContentError(name_b + ": " + key + " is " + second.dump() + ", expected " + first.dump() +
                         " as in " + name_a);
  }
}

}  // namespace

const Json& member(const std::string& file, const Json& object, const std::string& key,
                   const std::string& expected, bool (Json::*is)() const noexcept) {
  if (!object.is_object() || !object.contains(key) || !(object.at(key).*is)())
    throw ContentError(file + ": key '" + key + "' is missing or of another kind, expected " + expected);
  return object.at(key);
}

void require_same_phase_model(const Json& a, const std::string& name_a, const Json& b,
                              const std::string& name_b) {
  require_same(a, name_a, b, name_b,
               {"sigma", "lambda", "teacher_matrix", "tokens", "rank", "teacher_rank", "positional_matrix"},
               {{"tokens", 2}, {"rank", 1}, {"teacher_rank", 1}, {"positional_matrix", {1.0, -1.0}}});
}

void require_same_flow_model(const Json& a, const std::string& name_a, const Json& b,
                             const std::string& name_b) {
  require_same(a, name_a, b, name_b,
               {"classes", "pool", "common", "distinct_per_sequence", "common_per_sequence", "query", "u0",
                "beta0", "imbalance_qk", "imbalance_ov", "eta_ov"},
               {{"imbalance_qk", 0}, {"imbalance_ov", 0}, {"eta_ov", 1}});
}

void require_same_text(const Json& a, const std::string& name_a, const Json& b, const std::string& name_b) {
  require_same(a, name_a, b, name_b, {"task"}, {});
}

}  // namespace qksolve::results
