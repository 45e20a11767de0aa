#include "cli/config.hpp"

#include <toml++/toml.h>

#include <sstream>

#include "cli/numbers.hpp"
#include "cli/usage.hpp"
#include "qksolve/results/result.hpp"

namespace qksolve::app {

namespace {

using results::Json;

// Never the text of an integer: a file that says 1e3 must not pass where an integer is wanted.
std::string real_text(double value) {
  const std::string text = to_text(value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

[[noreturn]] void refuse_kind(const std::string& path, const std::string& key) {
  throw UsageError(path + ": the value of '" + key +
                   "' is not allowed, expected a number, a word or a list of these");
}

void append(std::vector<std::string>& values, const std::string& path, const std::string& key,
            const Json& value) {
  if (value.is_array())
    for (const Json& item : value) append(values, path, key, item);
  else if (value.is_string())
    values.push_back(value.get<std::string>());
  else if (value.is_number_float())
    values.push_back(real_text(value.get<double>()));
  else if (value.is_number() || value.is_boolean())
    values.push_back(value.dump());
  else
    refuse_kind(path, key);
}

void append(std::vector<std::string>& values, const std::string& path, const std::string& key,
            const toml::node& value) {
  if (const toml::array* array = value.as_array())
    for (const toml::node& item : *array) append(values, path, key, item);
  else if (value.is_string())
    values.push_back(value.ref<std::string>());
  else if (value.is_floating_point())
    values.push_back(real_text(value.ref<double>()));
  else if (value.is_integer())
    values.push_back(std::to_string(value.ref<std::int64_t>()));
  else if (value.is_boolean())
    values.push_back(value.ref<bool>() ? "true" : "false");
  else
    refuse_kind(path, key);
}

Config result_settings(const std::string& path, const std::string& text, const std::string& expected) {
  const Json json = results::parse_result(path, text);
  const std::string schema = json["schema"];
  if (schema != expected)
    throw UsageError(path + ": schema '" + schema + "' is not that of this command's results, expected " +
                     expected);
  if (!json.contains("parameters") || !json["parameters"].is_object())
    throw UsageError(path + ": not a result file, expected the key 'parameters'");
  std::vector<Setting> settings;
  for (const auto& [key, value] : json["parameters"].items()) {
    settings.push_back({key, {}});
    append(settings.back().values, path, key, value);
  }
  return {settings, true, results::incompleteness(json)};
}

std::vector<Setting> toml_settings(const std::string& path, const std::string& text) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw UsageError(path + ": line " + std::to_string(error.source().begin.line) +
                     " is not valid TOML: " + std::string(error.description()));
  }
  std::vector<Setting> settings;
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (value.is_table() || value.is_array_of_tables())
      throw UsageError(path + ": section '" + name + "' is not known, expected all options at the top level");
    settings.push_back({name, {}});
    append(settings.back().values, path, name, value);
  }
  return settings;
}

}  // namespace

Config read_config(const std::string& path, const std::string& schema) {
  const std::string text = results::read_file(path);
  const std::size_t first =
      text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");  // the last three: a byte order mark
  if (first != std::string::npos && text[first] == '{') return result_settings(path, text, schema);
  return {toml_settings(path, text), false, {}};
}

}  // namespace qksolve::app
