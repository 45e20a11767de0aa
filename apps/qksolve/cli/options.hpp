// The options of a command as records: name, meaning, bounds, default. Parsing, range checks, help,
// configuration files and the `parameters` of a result all come from them.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "cli/numbers.hpp"
#include "cli/words.hpp"
#include "qksolve/results/provenance.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace qksolve::app {

// The name of the values of an option that takes a list or a grid: such options together form a product,
// whose size is limited.
inline constexpr const char* kListOrGrid = "LIST|GRID";

// Entries row by row. Of a list of rows of equal length there is their number, and the place in the file
// where they stand, for messages about the shape.
struct Matrix {
  std::vector<double> entries;
  std::size_t rows = 0;
  std::string place;
};

class Options {
 public:
  explicit Options(CLI::App& command);

  // Each takes the option's name without dashes and a target that holds the default. The target is written by
  // `resolve`. Values from the command line win over those of --config.
  void real(const std::string& name, double& target, const Bounds& bounds, const std::string& meaning);
  // `default_text`: how the default is shown, where it is not the same on every machine.
  void integer(const std::string& name, std::int64_t& target, std::int64_t low, std::int64_t high,
               const std::string& meaning, const std::string& default_text = "");
  // A list, each value once.
  void integers(const std::string& name, std::vector<std::int64_t>& target, std::int64_t low,
                std::int64_t high, const std::string& meaning);
  // A list or a grid.
  void grid(const std::string& name, std::vector<double>& target, const Bounds& bounds,
            const std::string& meaning);
  // LOW:HIGH with low < high.
  void range(const std::string& name, double& low, double& high, const Bounds& bounds,
             const std::string& meaning);
  // Exactly as many values as the default holds.
  void reals(const std::string& name, std::vector<double>& target, const Bounds& bounds,
             const std::string& meaning);
  // A matrix as a list row by row, of any length; a configuration file may also give a list of rows.
  // `default_text` says what an empty target stands for.
  void matrix(const std::string& name, Matrix& target, const Bounds& bounds, const std::string& default_text,
              const std::string& meaning);
  void choice(const std::string& name, std::string& target, const std::vector<std::string>& allowed,
              const std::string& meaning);
  // A comma-separated list of words, each at most once.
  void choices(const std::string& name, std::vector<std::string>& target,
               const std::vector<std::string>& allowed, const std::string& meaning);
  // The same, put into the order of `allowed`, or `all` by itself. A single word is no list in `parameters`.
  void choices_or_all(const std::string& name, std::vector<std::string>& target,
                      const std::vector<std::string>& allowed, const std::string& meaning);
  // Anything else: `parse` reads the text and throws UsageError, `value` gives what `parameters` shows (null:
  // leave out).
  void text(const std::string& name, const std::string& value_name, const std::string& default_text,
            const std::string& meaning, std::function<void(const std::string&)> parse,
            std::function<results::Json()> value);
  void flag(const std::string& name, bool& target, const std::string& meaning);
  void path(const std::string& name, std::string& target, const std::string& meaning);
  // A file or folder that is read, and part of the result's parameters.
  void input(const std::string& name, std::string& target, const std::string& meaning);
  // A file that must be named, by its place among the words.
  void positional(const std::string& name, std::string& target, const std::string& meaning);
  // Files, one or more, by their places.
  void positionals(const std::string& name, std::vector<std::string>& target, const std::string& meaning);
  // A word that must be given, by its place.
  void positional_choice(const std::string& name, std::string& target,
                         const std::vector<std::string>& allowed, const std::string& meaning);

  // Options declared from here on say how a result is made and shown, not what it is: they are not
  // `parameters`.
  void presentation() { defines_result_ = false; }

  // After CLI11 has parsed: reads --config if given and writes all targets; says on `err` where that is the
  // result of a run that was interrupted. Throws UsageError, or what read_config throws.
  void resolve(std::ostream& err);
  bool given(const std::string& name) const;  // on the command line or in the configuration file
  results::Json parameters() const;
  std::string schema() const;  // of the command's result: "qksolve.phase.solve/1"

  // What --help shows of an option.
  struct Description {
    std::string flags;  // "-o,--output"
    std::string value;  // "FILE"; empty for a flag
    std::string meaning;
  };
  std::vector<Description> describe() const;

 private:
  struct Record {
    std::string name;
    std::string given_text;
    bool given = false;
    bool defines_result = true;
    bool is_grid = false;
    bool is_file = false, is_input = false, is_positional = false;
    bool is_list = false;         // CLI11 writes the target, a list of words, itself
    std::string separator = ",";  // between the values of a list in a configuration file
    Matrix* matrix = nullptr;     // what is written, where it is one
    CLI::Option* option = nullptr;
    std::function<void(const std::string&)> parse;
    std::function<results::Json()> value;
  };
  // `flags` as CLI11 wants them; empty: --name.
  Record& add(const std::string& name, const std::string& value_name, const std::string& help,
              const std::string& flags = "");
  static void add_path(Record& record, const std::string& shown, std::string& target);
  void apply_config(std::ostream& err);
  void check_points() const;
  void check_files() const;

  CLI::App& command_;
  std::vector<std::unique_ptr<Record>> records_;
  std::string config_;
  bool defines_result_ = true;
};

// name(item) of every item.
template <class Range, class Name>
std::vector<std::string> names_of(const Range& items, const Name& name) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(name(item));
  return names;
}

}  // namespace qksolve::app
