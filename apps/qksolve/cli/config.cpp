#include "cli/config.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>

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

std::string quoted(const std::string& text) { return "'" + text + "'"; }

// What a file says of one key, whatever its language: a list, or the text of one value.
struct Value {
  std::optional<std::string> text;  // as on the command line
  bool is_list = false;             // of `items`; neither: a kind that no option takes
  std::vector<Value> items;
};

Value value_of(const Json& json) {
  if (json.is_array()) {
    Value list{{}, true, {}};
    for (const Json& item : json) list.items.push_back(value_of(item));
    return list;
  }
  if (json.is_string()) return {json.get<std::string>(), false, {}};
  if (json.is_number_float()) return {real_text(json.get<double>()), false, {}};
  if (json.is_number() || json.is_boolean()) return {json.dump(), false, {}};
  return {};
}

std::size_t start_of_line(const std::string& text, toml::source_index line) {
  std::size_t at = 0;
  for (toml::source_index i = 1; i < line; ++i) at = text.find('\n', at) + 1;
  return at;
}

// The number that begins at this place, as it is written: the command line's rules hold for it.
std::string written_number(const std::string& text, const toml::source_position& place) {
  std::size_t at = start_of_line(text, place.line);
  // Columns count characters of UTF-8.
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
  if (place.line == 1 && text.starts_with("\xEF\xBB\xBF")) at += 3;
  for (toml::source_index column = 1; column < place.column; ++column) do
      ++at;
    while (at < text.size() && continues(text[at]));
  return text.substr(at, text.find_first_of(" \t\r\n,]}#", at) - at);
}

Value value_of(const toml::node& node, const std::string& text) {
  if (const toml::array* array = node.as_array()) {
    Value list{{}, true, {}};
    for (const toml::node& item : *array) list.items.push_back(value_of(item, text));
    return list;
  }
  if (node.is_string()) return {node.ref<std::string>(), false, {}};
  if (node.is_number()) return {written_number(text, node.source().begin), false, {}};
  if (node.is_boolean()) return {node.ref<bool>() ? "true" : "false", false, {}};
  return {};
}

// A list is of values, or of rows of values.
Setting make_setting(const std::string& key, const std::string& place, const Value& value) {
  const auto refuse = [&](const std::string& expected) {
    throw UsageError(place + ": the value of " + quoted(key) + " is not allowed, expected " + expected);
  };
  Setting setting{key, place, {}, 0};
  const auto append = [&](const Value& item) {
    if (!item.text) refuse("a number, a word or a list of these");
    setting.values.push_back(*item.text);
  };
  if (!value.is_list) {
    append(value);
    return setting;
  }
  const auto is_list = [](const Value& item) { return item.is_list; };
  if (std::none_of(value.items.begin(), value.items.end(), is_list)) {
    for (const Value& item : value.items) append(item);
    return setting;
  }
  if (!std::all_of(value.items.begin(), value.items.end(), is_list))
    refuse("a list of values or a list of rows, not of both");
  setting.rows = value.items.size();
  for (const Value& row : value.items) {
    if (row.items.size() != value.items.front().items.size())
      refuse("rows of equal length, here of " + std::to_string(value.items.front().items.size()) + " and " +
             std::to_string(row.items.size()) + " values");
    for (const Value& item : row.items) append(item);
  }
  return setting;
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
  for (const auto& [key, value] : json["parameters"].items())
    settings.push_back(make_setting(key, path, value_of(value)));
  return {settings, true, results::incompleteness(json)};
}

std::vector<Setting> toml_settings(const std::string& path, const std::string& text) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_index line = error.source().begin.line;
    const std::size_t start = start_of_line(text, line);
    throw UsageError(path + ": line " + std::to_string(line) + " is not valid TOML: " +
                     quoted(text.substr(start, text.find_first_of("\r\n", start) - start)) +
                     ", expected key = value, with numbers like 0.3 and words in quotation marks");
  }
  std::vector<std::pair<toml::source_index, Setting>> found;
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    const toml::source_index line = key.source().begin.line;
    const std::string place = path + ": line " + std::to_string(line);
    if (value.is_table() || value.is_array_of_tables())
      throw UsageError(place + ": section " + quoted(name) +
                       " is not known, expected all options at the top level");
    found.emplace_back(line, make_setting(name, place, value_of(value, text)));
  }
  // The table is sorted by key.
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Setting> settings;
  settings.reserve(found.size());
  for (auto& [line, setting] : found) settings.push_back(std::move(setting));
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
