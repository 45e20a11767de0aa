#include "cli/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <ostream>

#include "cli/command.hpp"
#include "cli/usage.hpp"

namespace qksolve::app {

namespace {

// The command that the words from words[first] on name; `first` becomes the place of the word after it.
const CLI::App& named_command(const CLI::App& app, const std::vector<std::string>& words,
                              std::size_t& first) {
  const CLI::App* command = &app;
  for (;; ++first) {
    std::vector<std::string> known;
    for (const CLI::App* verb : command->get_subcommands({})) known.push_back(verb->get_name());
    if (known.empty()) return *command;
    const std::string word = first < words.size() ? words[first] : "";
    if (command->get_option_no_throw(word) != nullptr) return *command;  // --help, --version
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      std::string expected;
      for (const std::string& name : known) expected += (expected.empty() ? "" : ", ") + name;
      throw UsageError(
          (first < words.size() ? "'" + word + "' is not a command of " : "no command is named after ") +
          command->get_name() + ", expected one of " + expected + suggestion(word, known));
    }
    command = command->get_subcommand(word);
  }
}

// Binds values to their options: CLI11 would take -1 for an option, any option for a missing value, and for
// the value of `--alpha=` the next word.
std::vector<std::string> bind_values(const CLI::App& command, const std::vector<std::string>& words,
                                     std::size_t first) {
  auto option_of = [&](const std::string& word) {
    return word.starts_with('-') ? command.get_option_no_throw(word.substr(0, word.find('='))) : nullptr;
  };
  std::vector<std::string> bound(words.begin() + 1, words.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = first; i < words.size(); ++i) {
    const CLI::Option* option = option_of(words[i]);
    const std::size_t equals = words[i].find('=');
    if (option == nullptr || (equals == std::string::npos && option->get_items_expected_max() == 0)) {
      bound.push_back(words[i]);
      continue;
    }
    const std::string name = option->get_name();
    if (equals == std::string::npos && (i + 1 == words.size() || option_of(words[i + 1]) != nullptr))
      throw UsageError(name + ": the value is missing, expected " + option->get_type_name());
    const std::string text = equals == std::string::npos ? words[++i] : words[i].substr(equals + 1);
    const bool flag = option->get_items_expected_max() == 0;
    const bool word_follows = i + 1 < words.size() && option_of(words[i + 1]) == nullptr;
    if (text.empty() && equals != std::string::npos && (flag || word_follows))
      throw UsageError(name + ": '' is not allowed, expected " +
                       (flag ? "true or false" : option->get_type_name()) + " right after '='");
    bound.push_back(text.empty() ? name : name + "=" + text);
    if (text.empty()) bound.emplace_back();
  }
  return bound;
}

// One line of at most a few hundred characters, whatever was typed: without control characters, the middle of
// long values left out.
std::string one_line(std::string text) {
  constexpr std::size_t kHead = 100, kTail = 250;
  if (text.size() > kHead + kTail) text = text.substr(0, kHead) + "..." + text.substr(text.size() - kTail);
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7f) {
      line += c;
    } else {
      line += "\\x";
      line += "0123456789abcdef"[code / 16];
      line += "0123456789abcdef"[code % 16];
    }
  }
  return line;
}

void add_all(CLI::App& app, Context& context) {
  CLI::App* phase =
      app.add_subcommand("phase", "The positional/semantic phase transition of dot-product attention");
  phase->require_subcommand(1);
  add_phase_solve(*phase, context);
  add_phase_critical(*phase, context);
  add_phase_sweep(*phase, context);
  add_phase_simulate(*phase, context);
  CLI::App* flow = app.add_subcommand(
      "flow", "Gradient flow of the query-key and output-value circuits of one-layer attention");
  flow->require_subcommand(1);
  add_flow_solve(*flow, context);
  add_flow_simulate(*flow, context);
  CLI::App* coupled =
      app.add_subcommand("coupled", "Queries and keys that evolve together before attention is scored");
  coupled->require_subcommand(1);
  add_coupled_solve(*coupled, context);
  add_coupled_train(*coupled, context);
  add_compare(app, context);
  add_combine(app, context);
  add_plot(app, context);
  add_schema(app, context);
}

}  // namespace

int run_commands(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err,
                 const std::function<void(CLI::App&, Context&)>& add) {
  Context context(out, err, argv);
  CLI::App app{"qksolve: what theory predicts about query-key attention, and the experiments that check it"};
  app.name("qksolve");
  app.set_version_flag("--version",
                       std::string("qksolve ") + results::version() + " (" + results::git_commit() + ")");
  app.require_subcommand(1);
  add(app, context);

  auto fail = [&](int code, const std::string& message) {
    err << "qksolve: " << one_line(message) << "\n";
    return code;
  };
  try {
    int code = kDone;
    try {
      std::size_t first = 1;
      const CLI::App& command = named_command(app, argv, first);
      if (const auto external = context.external.find(&command); external != context.external.end())
        external->second({argv.begin() + static_cast<std::ptrdiff_t>(first), argv.end()});
      std::vector<std::string> words = bind_values(command, argv, first);
      std::reverse(words.begin(), words.end());
      app.parse(words);
      code = context.action();
    } catch (const CLI::Success& success) {
      app.exit(success, out, err);
    }
    if (!out.flush()) throw results::FileError("cannot write to standard output");
    return code;
  } catch (const CLI::ParseError& error) {
    return fail(kUsage, error.what());
  } catch (const UsageError& error) {
    return fail(kUsage, error.what());
  } catch (const results::ContentError& error) {
    return fail(kUsage, error.what());
  } catch (const results::FileError& error) {
    return fail(kFile, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(kFile, "cannot use '" + error.path1().string() + "': " + error.code().message());
  } catch (const std::exception& error) {
    return fail(kInternal, std::string("internal error: ") + error.what());
  }
}

int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err) {
  return run_commands(argv, out, err, add_all);
}

void prepare_process() {
  // A file opened later must not take the place of a standard stream that was closed; writing there still
  // fails.
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = open("/dev/null", O_RDONLY);
  close(descriptor);
  // A closed pipe or a full quota is an error of the write.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  install_interrupt_handlers();
}

}  // namespace qksolve::app
