#include "cli/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>

#include "cli/command.hpp"
#include "cli/usage.hpp"
#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/results/printable.hpp"

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
  return results::printable(text);
}

// A command as CLI11 knows it, with the values of its options.
struct Declared {
  const Command* command;
  CLI::App* app;
  std::unique_ptr<Options> options;
  Action action;
};

std::vector<Declared> declare(CLI::App& program, const Commands& commands) {
  std::map<std::string, CLI::App*> parents{{"", &program}};
  for (const Group& group : commands.groups) {
    parents[group.name] = program.add_subcommand(group.name, group.summary);
    parents[group.name]->require_subcommand(1);
  }
  std::vector<Declared> declared;
  for (const Command& command : commands.commands) {
    CLI::App* app = parents.at(command.group)->add_subcommand(command.name, command.summary);
    declared.push_back({&command, app, nullptr, {}});
    if (!command.declare) continue;
    declared.back().options = std::make_unique<Options>(*app);
    declared.back().action = command.declare(*declared.back().options);
    app->footer("Example: " + command.example);
  }
  return declared;
}

}  // namespace

int run_commands(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err,
                 const Commands& commands) {
  Context context(out, err, argv);
  CLI::App app{"qksolve: what theory predicts about query-key attention, and the experiments that check it"};
  app.name("qksolve");
  app.set_version_flag("--version",
                       std::string("qksolve ") + results::version() + " (" + results::git_commit() + ")");
  app.require_subcommand(1);
  const std::vector<Declared> declared = declare(app, commands);

  auto fail = [&](int code, const std::string& message) {
    err << "qksolve: " << one_line(message) << "\n";
    return code;
  };
  try {
    int code = kDone;
    try {
      std::size_t first = 1;
      const CLI::App& named = named_command(app, argv, first);
      const auto chosen = std::find_if(declared.begin(), declared.end(),
                                       [&](const Declared& one) { return one.app == &named; });
      if (chosen != declared.end() && chosen->command->start)
        chosen->command->start({argv.begin() + static_cast<std::ptrdiff_t>(first), argv.end()}, context);
      std::vector<std::string> words = bind_values(named, argv, first);
      std::reverse(words.begin(), words.end());
      app.parse(words);
      chosen->options->resolve(err);
      code = chosen->action(*chosen->options, context);
    } catch (const CLI::Success& success) {
      app.exit(success, out, err);
    }
    if (!out.flush()) throw results::FileError("cannot write to standard output");
    return code;
  } catch (const numerics::Interrupted&) {
    return kInterrupted;
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

std::vector<CommandDescription> describe(const Commands& commands) {
  CLI::App app;
  std::vector<CommandDescription> all;
  for (const Declared& one : declare(app, commands)) {
    const Command& command = *one.command;
    all.push_back({(command.group.empty() ? "" : command.group + " ") + command.name, command.summary,
                   command.example,
                   one.options ? one.options->describe() : std::vector<Options::Description>()});
  }
  return all;
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
