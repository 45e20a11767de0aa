#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/config.hpp"
#include "cli/usage.hpp"
#include "qksolve/results/printable.hpp"
#include "qksolve/results/text_file.hpp"

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

// As start:stop:count where the values are long and such a grid.
std::string grid_text(const std::vector<double>& values) {
  if (values.size() > 4) {
    std::string grid =
        to_text(values.front()) + ":" + to_text(values.back()) + ":" + std::to_string(values.size());
    if (parse_grid("", grid, {}) == values) return grid;
  }
  return join(values);
}

std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

constexpr std::size_t kLargestNumberOfPoints = 1'000'000;

}  // namespace

Options::Options(CLI::App& command) : command_(command) {
  command_.allow_extras();  // `resolve` refuses them, with better words
  command_
      .add_option("--config", config_,
                  "Read options from a TOML file, or from the parameters of a result file")
      ->type_name("FILE")
      ->take_last();
}

Options::Record& Options::add(const std::string& name, const std::string& value_name, const std::string& help,
                              const std::string& flags) {
  records_.push_back(std::make_unique<Record>());
  Record& record = *records_.back();
  record.name = name;
  record.defines_result = defines_result_;
  record.is_grid = value_name == kListOrGrid;
  record.option = command_.add_option(flags.empty() ? "--" + name : flags, record.given_text, help)
                      ->type_name(value_name)
                      ->take_last();
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
                      const std::string& meaning, const std::string& default_text) {
  Record& record =
      add(name, "INT",
          meaning + " (default " + (default_text.empty() ? std::to_string(target) : default_text) + ", " +
              std::to_string(low) + " to " + std::to_string(high) + ")");
  record.parse = [=, &target](const std::string& t) { target = parse_integer("--" + name, t, low, high); };
  record.value = [&target] { return Json(target); };
}

void Options::integers(const std::string& name, std::vector<std::int64_t>& target, std::int64_t low,
                       std::int64_t high, const std::string& meaning) {
  const std::string shown = join(target, ",", [](std::int64_t v) { return std::to_string(v); });
  Record& record = add(
      name, "LIST",
      meaning + " (default " + shown + ", each " + std::to_string(low) + " to " + std::to_string(high) + ")");
  record.parse = [=, &target](const std::string& t) { target = parse_integers("--" + name, t, low, high); };
  record.value = [&target] { return Json(target); };
}

void Options::grid(const std::string& name, std::vector<double>& target, const Bounds& bounds,
                   const std::string& meaning) {
  Record& record = add(name, kListOrGrid,
                       meaning + ": a,b,c or start:stop:count (default " + grid_text(target) + ", each " +
                           bounds.text() + ")");
  record.parse = [name, &target, bounds](const std::string& t) {
    target = parse_grid("--" + name, t, bounds);
  };
  record.value = [&target] { return Json(target); };
}

void Options::range(const std::string& name, double& low, double& high, const Bounds& bounds,
                    const std::string& meaning) {
  Record& record =
      add(name, "LOW:HIGH",
          meaning + " (default " + to_text(low) + ":" + to_text(high) + ", each " + bounds.text() + ")");
  record.separator = ":";
  record.parse = [name, &low, &high, bounds](const std::string& t) {
    const std::vector<std::string> ends = split(t, ':');
    if (ends.size() == 2) {
      low = parse_real("--" + name, ends[0], bounds);
      high = parse_real("--" + name, ends[1], bounds);
    }
    if (ends.size() != 2 || !(low < high))
      throw UsageError("--" + name + ": '" + t +
                       "' is not allowed, expected low:high with low < high, each " + bounds.text());
  };
  record.value = [&low, &high] { return Json::array({low, high}); };
}

void Options::reals(const std::string& name, std::vector<double>& target, const Bounds& bounds,
                    const std::string& meaning) {
  Record& record = add(name, "LIST", meaning + " (default " + join(target) + ", each " + bounds.text() + ")");
  record.parse = [name, &target, bounds, count = target.size()](const std::string& t) {
    target = parse_reals("--" + name, t, bounds);
    if (target.size() != count)
      throw UsageError("--" + name + ": '" + t + "' is not allowed, expected " + std::to_string(count) +
                       " values, each " + bounds.text());
  };
  record.value = [&target] { return Json(target); };
}

void Options::matrix(const std::string& name, Matrix& target, const Bounds& bounds,
                     const std::string& default_text, const std::string& meaning) {
  Record& record = add(name, "LIST", meaning + " (default " + default_text + ")");
  record.matrix = &target;
  record.parse = [name, &target, bounds](const std::string& t) {
    target = {parse_reals("--" + name, t, bounds), 0, ""};
  };
  record.value = [&target] { return Json(target.entries); };
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
    target = parse_words("--" + name, t, allowed);
  };
  record.value = [&target] { return Json(target); };
}

void Options::choices_or_all(const std::string& name, std::vector<std::string>& target,
                             const std::vector<std::string>& allowed, const std::string& meaning) {
  Record& record =
      add(name, "LIST|all",
          meaning + ": all, or some of " + join(allowed, ",") + " (default " + join(target, ",") + ")");
  record.parse = [name, &target, allowed](const std::string& t) {
    std::vector<std::string> known = allowed;
    known.emplace_back("all");
    target = parse_words("--" + name, t, known);
    if (target.size() > 1 && std::find(target.begin(), target.end(), "all") != target.end())
      throw UsageError("--" + name + ": '" + t + "' is not allowed, expected all by itself or a list of " +
                       join(allowed, ", "));
    std::sort(target.begin(), target.end(), [&](const std::string& a, const std::string& b) {
      return std::find(known.begin(), known.end(), a) < std::find(known.begin(), known.end(), b);
    });
  };
  record.value = [&target] { return target.size() == 1 ? Json(target.front()) : Json(target); };
}

void Options::text(const std::string& name, const std::string& value_name, const std::string& default_text,
                   const std::string& meaning, std::function<void(const std::string&)> parse,
                   std::function<Json()> value) {
  Record& record =
      add(name, value_name, meaning + (default_text.empty() ? "" : " (default " + default_text + ")"));
  record.parse = std::move(parse);
  record.value = std::move(value);
}

void Options::flag(const std::string& name, bool& target, const std::string& meaning) {
  records_.push_back(std::make_unique<Record>());
  Record& record = *records_.back();
  record.name = name;
  record.defines_result = defines_result_;
  record.option = command_.add_flag("--" + name, record.given_text, meaning);
  record.parse = [name, &target](const std::string& t) {
    require_word("--" + name, t, {"true", "false"});
    target = t == "true";
  };
  record.value = [&target] { return Json(target); };
}

void Options::path(const std::string& name, std::string& target, const std::string& meaning) {
  add_path(add(name, "FILE", meaning, name == "output" ? "-o,--output" : ""), "--" + name, target);
}

void Options::input(const std::string& name, std::string& target, const std::string& meaning) {
  Record& record = add(name, "PATH", meaning);
  record.is_input = true;
  add_path(record, "--" + name, target);
}

void Options::positional(const std::string& name, std::string& target, const std::string& meaning) {
  Record& record = add(name, "FILE", meaning, name);
  record.is_positional = record.is_input = true;
  add_path(record, name, target);
}

void Options::positionals(const std::string& name, std::vector<std::string>& target,
                          const std::string& meaning) {
  records_.push_back(std::make_unique<Record>());
  Record& record = *records_.back();
  record.name = name;
  record.defines_result = defines_result_;
  record.is_file = record.is_input = record.is_positional = record.is_list = true;
  record.option = command_.add_option(name, target, meaning)->type_name("FILE");
  record.parse = [name, &target](const std::string& t) { target = split(t, ','); };
  record.value = [&target] { return Json(target); };
}

void Options::positional_choice(const std::string& name, std::string& target,
                                const std::vector<std::string>& allowed, const std::string& meaning) {
  Record& record = add(name, "NAME", meaning + ": " + join(allowed, ", "), name);
  record.is_positional = true;
  record.parse = [name, &target, allowed](const std::string& t) {
    require_word(name, t, allowed);
    target = t;
  };
  record.value = [&target] { return Json(target); };
}

void Options::add_path(Record& record, const std::string& shown, std::string& target) {
  record.is_file = true;
  record.parse = [shown, &target](const std::string& t) {
    if (t.empty() || t == "-" || t.find('\0') != std::string::npos)
      throw UsageError(shown + ": '" + t + "' is not allowed, expected the name of a file");
    target = t;
  };
  record.value = [&target] { return target.empty() ? Json() : Json(target); };
}

void Options::apply_config(std::ostream& err) {
  const Config config = read_config(config_, schema());
  if (config.lacking)
    err << "qksolve: " << results::printable(config_ + ": an interrupted run, " + *config.lacking) << "\n";
  // How a result was shown is not taken from it.
  std::vector<Record*> known;
  for (const auto& record : records_)
    if (record->defines_result || !config.is_result) known.push_back(record.get());
  for (const Setting& setting : config.settings) {
    const auto match = std::find_if(known.begin(), known.end(), [&](const Record* record) {
      return underscored(record->name) == underscored(setting.key);
    });
    if (match == known.end()) {
      std::vector<std::string> names(known.size());
      std::transform(known.begin(), known.end(), names.begin(), [](const Record* r) { return r->name; });
      throw UsageError(setting.place + ": unknown key '" + setting.key + "'" +
                       suggestion(setting.key, names));
    }
    Record& record = **match;
    if (record.given) throw UsageError(setting.place + ": the key '" + record.name + "' is given twice");
    if (setting.rows > 0 && record.matrix == nullptr)
      throw UsageError(setting.place + ": the value of '" + setting.key +
                       "' is not allowed, expected a number, a word or a list of these, not a list of lists");
    if (record.is_file && !record.is_list && setting.values.size() != 1)
      throw UsageError(setting.place + ": the value of '" + setting.key +
                       "' is not allowed, expected the name of one file");
    try {
      record.parse(join(setting.values, record.separator));
    } catch (const UsageError& error) {
      throw UsageError(setting.place + ": " + error.what());
    }
    if (record.matrix != nullptr) {
      record.matrix->rows = setting.rows;
      record.matrix->place = setting.place;
    }
    record.given = true;
  }
}

void Options::resolve(std::ostream& err) {
  std::vector<std::string> names{"--help", "--config"};
  for (const auto& record : records_) names.push_back(record->option->get_name());
  for (const std::string& word : command_.remaining())
    throw UsageError(word.starts_with('-')
                         ? "unknown option '" + word + "'" + suggestion(word.substr(0, word.find('=')), names)
                         : "unexpected word '" + word + "'");
  if (command_.get_option("--config")->count() > 1) throw UsageError("--config: given more than once");
  for (const auto& record : records_)
    if (record->option->count() > 1 && !record->is_list)
      throw UsageError(record->option->get_name() + ": given more than once");
  if (config_.empty() && command_.get_option("--config")->count() > 0)
    throw UsageError("--config: '' is not allowed, expected the name of a file");
  if (!config_.empty()) apply_config(err);
  for (const auto& record : records_) {
    if (record->option->count() > 0) {
      if (!record->is_list) record->parse(record->given_text);
      record->given = true;
    }
    if (record->is_positional && !record->given)
      throw UsageError(std::string(record->is_file ? "the file" : "the word") + " '" + record->name +
                       "' is missing, see --help");
  }
  check_points();
  check_files();
}

void Options::check_points() const {
  std::size_t points = 1;
  std::string factors;
  for (const auto& record : records_) {
    if (!record->is_grid) continue;
    const std::size_t count = record->value().size();
    if (count < 2) continue;
    points *= std::min(count, kLargestNumberOfPoints + 1);
    factors += (factors.empty() ? "--" : " times --") + record->name + " (" + std::to_string(count) + ")";
    if (points > kLargestNumberOfPoints)
      throw UsageError(factors + ": too many points, expected at most " +
                       std::to_string(kLargestNumberOfPoints) + " together");
  }
}

void Options::check_files() const {
  std::vector<std::pair<std::string, std::string>> read, written;  // name of the option, file
  if (!config_.empty()) read.emplace_back("--config", config_);
  for (const auto& record : records_) {
    const Json files = record->is_file ? record->value() : Json();
    for (const Json& file : files.is_array() ? files : files.is_null() ? Json::array() : Json::array({files}))
      (record->is_input ? read : written)
          .emplace_back(record->option->get_name(record->is_positional), file.get<std::string>());
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto& [option, file] = written[i];
    for (const auto& others : {read, {written.begin(), written.begin() + static_cast<std::ptrdiff_t>(i)}})
      for (const auto& [other, name] : others)
        if (results::same_file(file, name))
          throw UsageError(option + ": '" + file + "' is not allowed, expected another file than that of " +
                           other);
  }
}

std::vector<Options::Description> Options::describe() const {
  std::vector<Description> all;
  for (const CLI::Option* option : command_.get_options())
    all.push_back({option->get_name(option->get_positional(), true),
                   option->get_items_expected_max() == 0 ? "" : option->get_type_name(),
                   option->get_description()});
  return all;
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
