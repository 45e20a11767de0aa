#include "qksolve/results/schemas.hpp"

namespace qksolve::results {

namespace {

const std::string kCommon = "common";

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : schema_files())
    if (name != kCommon) names.push_back(name);
  return names;
}

Json schema(const std::string& name) {
  const Json own = Json::parse(schema_files().at(name));
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["$id"] = "urn:qksolve:" + name + ":1";
  schema.update(own);
  schema["properties"]["schema"]["const"] = "qksolve." + name + "/1";
  schema["allOf"] = Json::array({{{"$ref", "#/$defs/result"}}});
  schema["$defs"] = Json::parse(schema_files().at(kCommon));
  return schema;
}

}  // namespace qksolve::results
