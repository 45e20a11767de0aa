#include "options.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <sstream>

#include "qksolve/results/result.hpp"
#include "usage.hpp"

namespace qksolve::app {

using results::Json;

namespace {

template <class Range, class Text>
std::string join(const Range& range, const std::string& separator, Text text) {
  std::string joined;
  for (const auto& item : range) joined += (joined.empty() ? "" : separator) + text(item);
  return joined;
}

std::string join(const std::vector<double>& values) {
  return join(values, ",", [](double v) { return to_text(v); });
}
std::string join(const std::vector<std::string>& words, const std::string& separator) {
  return join(words, separator, [](const std::string& w) { return w; });
}

void require_word(const std::string& option, const std::string& word,
                  const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end())
    throw UsageError(option + ": '" + word + "' is not allowed, expected " +
                     (allowed.size() == 1 ? allowed[0] : "one of " + join(allowed, ", ")));
}

// Levenshtein distance, to name the nearest known key.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// The text an option would have had on the command line for a value of a result's `parameters`.
std::string option_text(const std::string& path, const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return to_text(value.get<double>());
  if (value.is_number() || value.is_boolean()) return value.dump();
  if (value.is_array())
    return join(value, ",", [&](const Json& item) { return option_text(path, key, item); });
  throw UsageError(path + ": the value of '" + key + "' is not a number, a word or a list of these");
}

using Settings = std::vector<std::pair<std::string, std::string>>;  // key, text

Settings result_settings(const std::string& path, const std::string& text, const std::string& expected) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error&) {
    throw UsageError(path + ": not valid JSON (truncated?)");
  }
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string() ||
      !json.contains("parameters") || !json["parameters"].is_object())
    throw UsageError(path + ": not a result file, expected the keys 'schema' and 'parameters'");
  const std::string schema = json["schema"];
  if (schema != expected)
    throw UsageError(path + ": schema '" + schema + "' is not that of this command's results, expected " +
                     expected);
  Settings settings;
  for (const auto& [key, value] : json["parameters"].items())
    settings.emplace_back(key, option_text(path, key, value));
  return settings;
}

Settings toml_settings(const std::string& path, const std::string& text) {
  Settings settings;
  std::istringstream stream(text);
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(stream);
  } catch (const CLI::Error& error) {
    throw UsageError(path + ": " + error.what());
  }
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // CLI11's marks of a section's begin and end
    if (!item.parents.empty())
      throw UsageError(path + ": section [" + join(item.parents, ".") +
                       "] is not known, options stand at the top level");
    settings.emplace_back(item.name, join(item.inputs, ","));
  }
  return settings;
}

}  // namespace

Options::Options(CLI::App& command) : command_(command) {
  command_
      .add_option("--config", config_,
                  "Read options from a TOML file, or from the parameters of a result file")
      ->type_name("FILE");
}

Options::Record& Options::add(const std::string& name, const std::string& placeholder,
                              const std::string& help, const std::string& flags) {
  records_.push_back(std::make_unique<Record>());
  Record& record = *records_.back();
  record.name = name;
  record.defines_result = defines_result_;
  record.option = command_.add_option(flags.empty() ? "--" + name : flags, record.given_text, help)
                      ->type_name(placeholder);
  return record;
}

void Options::real(const std::string& name, double& target, const Bounds& bounds,
                   const std::string& meaning) {
  Record& record = add(name, "REAL", meaning + " (default " + to_text(target) + ", " + bounds.text() + ")");
  record.parse = [name, &target, bounds](const std::string& t) {
    target = parse_real("--" + name, t, bounds);
  };
  record.value = [&target] { return Json(target); };
}

void Options::integer(const std::string& name, std::int64_t& target, std::int64_t low, std::int64_t high,
                      const std::string& meaning) {
  const std::string range = high == std::numeric_limits<std::int64_t>::max()
                                ? ">= " + std::to_string(low)
                                : std::to_string(low) + " to " + std::to_string(high);
  Record& record = add(name, "INT", meaning + " (default " + std::to_string(target) + ", " + range + ")");
  record.parse = [=, &target](const std::string& t) { target = parse_integer("--" + name, t, low, high); };
  record.value = [&target] { return Json(target); };
}

void Options::grid(const std::string& name, std::vector<double>& target, const Bounds& bounds,
                   const std::string& meaning) {
  Record& record =
      add(name, "LIST|GRID",
          meaning + ": a,b,c or start:stop:count (default " + join(target) + ", each " + bounds.text() + ")");
  record.parse = [name, &target, bounds](const std::string& t) {
    target = parse_grid("--" + name, t, bounds);
  };
  record.value = [&target] { return Json(target); };
}

void Options::reals(const std::string& name, std::vector<double>& target, const Bounds& bounds,
                    const std::string& meaning) {
  Record& record = add(name, "LIST", meaning + " (default " + join(target) + ", each " + bounds.text() + ")");
  record.parse = [name, &target, bounds, count = target.size()](const std::string& t) {
    target = parse_reals("--" + name, t, bounds);
    if (target.size() != count)
      throw UsageError("--" + name + ": '" + t + "' is not allowed, expected " + std::to_string(count) +
                       " values");
  };
  record.value = [&target] { return Json(target); };
}

void Options::choice(const std::string& name, std::string& target, const std::vector<std::string>& allowed,
                     const std::string& meaning) {
  Record& record = add(name, join(allowed, "|"), meaning + " (default " + target + ")");
  record.parse = [name, &target, allowed](const std::string& t) {
    require_word("--" + name, t, allowed);
    target = t;
  };
  record.value = [&target] { return Json(target); };
}

void Options::choices(const std::string& name, std::vector<std::string>& target,
                      const std::vector<std::string>& allowed, const std::string& meaning) {
  Record& record =
      add(name, "LIST", meaning + ": " + join(allowed, ",") + " (default " + join(target, ",") + ")");
  record.parse = [name, &target, allowed](const std::string& t) {
    target.clear();
    for (const std::string& word : split(t, ',')) {
      require_word("--" + name, word, allowed);
      if (std::find(target.begin(), target.end(), word) != target.end())
        throw UsageError("--" + name + ": '" + t + "' is not allowed, expected each word once");
      target.push_back(word);
    }
  };
  record.value = [&target] { return Json(target); };
}

void Options::text(const std::string& name, const std::string& placeholder, const std::string& default_text,
                   const std::string& meaning, std::function<void(const std::string&)> parse,
                   std::function<Json()> value) {
  Record& record =
      add(name, placeholder, meaning + (default_text.empty() ? "" : " (default " + default_text + ")"));
  record.parse = std::move(parse);
  record.value = std::move(value);
}

void Options::flag(const std::string& name, bool& target, const std::string& meaning) {
  records_.push_back(std::make_unique<Record>());
  Record& record = *records_.back();
  record.name = name;
  record.is_flag = true;
  record.defines_result = defines_result_;
  record.option = command_.add_flag("--" + name, target, meaning);
  record.parse = [name, &target](const std::string& t) {
    require_word("--" + name, t, {"true", "false"});
    target = t == "true";
  };
  record.value = [&target] { return Json(target); };
}

void Options::path(const std::string& name, std::string& target, const std::string& meaning) {
  add_path(add(name, "FILE", meaning, name == "output" ? "-o,--output" : ""), "--" + name, target);
}

void Options::positional(const std::string& name, std::string& target, const std::string& meaning) {
  Record& record = add(name, "FILE", meaning, name);
  record.option->required();
  add_path(record, name, target);
}

void Options::add_path(Record& record, const std::string& shown, std::string& target) {
  record.parse = [shown, &target](const std::string& t) {
    if (t.empty()) throw UsageError(shown + ": '' is not allowed, expected the name of a file");
    target = t;
  };
  record.value = [&target] { return target.empty() ? Json() : Json(target); };
}

Options::Record* Options::find(const std::string& name) {
  for (const auto& record : records_)
    if (underscored(record->name) == underscored(name)) return record.get();
  return nullptr;
}

void Options::read_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file || content.fail()) throw results::FileError("cannot read '" + path + "'");
  const std::string text = content.str();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '{';
  for (const auto& [name, text_value] :
       is_json ? result_settings(path, text, schema()) : toml_settings(path, text)) {
    const std::string& key = name;  // a lambda cannot capture a structured binding
    Record* record = find(key);
    if (record == nullptr) {
      const auto nearest =
          std::min_element(records_.begin(), records_.end(), [&](const auto& a, const auto& b) {
            return distance(underscored(a->name), underscored(key)) <
                   distance(underscored(b->name), underscored(key));
          });
      throw UsageError(path + ": unknown key '" + key + "', the nearest known one is '" + (*nearest)->name +
                       "'");
    }
    if (record->option->count() > 0) continue;  // the command line wins
    try {
      record->parse(text_value);
    } catch (const UsageError& error) {
      throw UsageError(path + ": " + error.what());
    }
    record->given = true;
  }
}

void Options::resolve() {
  if (!config_.empty()) read_config(config_);
  if (config_.empty() && command_.get_option("--config")->count() > 0)
    throw UsageError("--config: '' is not allowed, expected the name of a file");
  for (const auto& record : records_) {
    if (record->option->count() == 0) continue;
    if (!record->is_flag) record->parse(record->given_text);
    record->given = true;
  }
}

bool Options::given(const std::string& name) const {
  return std::any_of(records_.begin(), records_.end(),
                     [&](const auto& r) { return r->name == name && r->given; });
}

std::string Options::schema() const {
  std::string name = command_.get_name();
  for (const CLI::App* app = command_.get_parent(); app != nullptr; app = app->get_parent())
    name = app->get_name() + "." + name;
  return name + "/1";
}

Json Options::parameters() const {
  Json json = Json::object();
  for (const auto& record : records_) {
    if (!record->defines_result) continue;
    const Json value = record->value();
    if (!value.is_null()) json[underscored(record->name)] = value;
  }
  return json;
}

}  // namespace qksolve::app
