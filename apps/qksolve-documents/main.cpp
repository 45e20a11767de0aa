// What users read about the commands of qksolve, made from the records of their options: COMMANDS.md, a man
// page, completions for bash.
#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "commands.hpp"

namespace {

using qksolve::app::CommandDescription;
using qksolve::app::Options;

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

std::string call(const CommandDescription& command) { return "qksolve " + command.name; }

std::string flags_and_value(const Options::Description& option) {
  return option.flags + (option.value.empty() || option.flags.front() != '-' ? "" : " " + option.value);
}

std::string markdown(const std::vector<CommandDescription>& commands) {
  std::ostringstream out;
  out << "# Commands\n\nMade from the options themselves: `cmake --build .build/release --target "
         "qksolve-documents && .build/release/bin/qksolve-documents markdown > apps/qksolve/COMMANDS.md`.\n";
  for (const CommandDescription& command : commands) {
    out << "\n## " << call(command) << "\n\n" << command.summary << ".\n";
    if (!command.example.empty()) out << "\n    " << command.example << "\n";
    if (command.options.empty()) {
      out << "\nA program of its own: its options are shown by `" << call(command) << " --help`.\n";
      continue;
    }
    out << "\n| option | meaning |\n|---|---|\n";
    for (const Options::Description& option : command.options)
      out << "| `" << replaced(flags_and_value(option), "|", "\\|") << "` | "
          << replaced(option.meaning, "|", "\\|") << " |\n";
  }
  return out.str();
}

// Text of a man page: no line begins with a control character, no hyphen is a minus sign by accident.
std::string roff(const std::string& text) { return replaced(replaced(text, "\\", "\\e"), "-", "\\-"); }

std::string man_page(const std::vector<CommandDescription>& commands) {
  std::ostringstream out;
  out << ".TH QKSOLVE 1 \"\" \"qksolve " << qksolve::results::version() << "\"\n"
      << ".SH NAME\nqksolve \\- theory of query\\-key attention, solved, and the experiments that check it\n"
      << ".SH SYNOPSIS\n.B qksolve\n.I command\n[options]\n"
      << ".SH DESCRIPTION\nEvery solver writes its result as JSON to standard output or to the file of\n"
         ".BR \\-o ;\ntables and progress go to standard error.\n";
  for (const CommandDescription& command : commands) {
    out << ".SH \"" << roff(call(command)) << "\"\n" << roff(command.summary) << ".\n";
    if (!command.example.empty()) out << ".PP\nExample: " << roff(command.example) << "\n";
    for (const Options::Description& option : command.options)
      out << ".TP\n.B \"" << roff(flags_and_value(option)) << "\"\n" << roff(option.meaning) << "\n";
  }
  out << ".SH \"EXIT STATUS\"\n0 everything converged; 2 usage, or bad contents of a file; 3 something asked "
         "for "
         "did not converge;\n4 a file cannot be opened, read or written; 5 internal error; 130 interrupted, "
         "what "
         "was finished is written.\n";
  return out.str();
}

// Pieces of "-o,--output" that are typed.
std::vector<std::string> typed(const Options::Description& option) {
  std::vector<std::string> flags;
  std::istringstream pieces(option.flags);
  for (std::string flag; std::getline(pieces, flag, ',');)
    if (flag.front() == '-') flags.push_back(flag);
  return flags;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Words of a choice, "gd|adam"; none for what is typed freely.
std::string choices(const Options::Description& option) {
  const bool free = std::any_of(option.value.begin(), option.value.end(),
                                [](unsigned char c) { return std::isupper(c) != 0 || c == ','; });
  return free ? "" : replaced(option.value, "|", " ");
}

std::string completion(const std::vector<CommandDescription>& commands) {
  std::ostringstream cases, values;
  std::vector<std::string> first;
  std::set<std::string> groups;
  for (const CommandDescription& command : commands) {
    const std::size_t blank = command.name.find(' ');
    const std::string group = command.name.substr(0, blank);
    if (groups.insert(group).second) first.push_back(group);
    std::vector<std::string> flags;
    for (const Options::Description& option : command.options) {
      const std::vector<std::string> names = typed(option);
      flags.insert(flags.end(), names.begin(), names.end());
      for (const std::string& name : names)
        if (const std::string words = choices(option); !words.empty())
          values << "    '" << command.name << " " << name << "') words='" << words << "' ;;\n";
    }
    cases << "    '" << command.name << "') words='" << joined(flags) << "' ;;\n";
  }
  for (const std::string& group : groups) {
    std::vector<std::string> verbs;
    for (const CommandDescription& command : commands)
      if (command.name.starts_with(group + " ")) verbs.push_back(command.name.substr(group.size() + 1));
    if (!verbs.empty()) cases << "    '" << group << " ') words='" << joined(verbs) << "' ;;\n";
  }
  return "# Completions of qksolve for bash.\n_qksolve() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then\n    COMPREPLY=($(compgen -W '" +
         joined(first) +
         "' -- \"$current\"))\n    return\n  fi\n"
         "  local command=${COMP_WORDS[1]}\n"
         "  case $command in\n    " +
         [&] {
           std::string pattern;
           for (const std::string& group : groups)
             if (std::any_of(commands.begin(), commands.end(),
                             [&](const auto& c) { return c.name.starts_with(group + " "); }))
               pattern += (pattern.empty() ? "" : "|") + group;
           return pattern;
         }() +
         ") command=\"$command ${COMP_WORDS[2]}\"; [ \"$COMP_CWORD\" = 2 ] && command=\"${COMP_WORDS[1]} \" "
         ";;\n"
         "  esac\n  case \"$command\" in\n" +
         cases.str() + "  esac\n  case \"$command $previous\" in\n" + values.str() +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  [[ $current != -* ]] && COMPREPLY+=($(compgen -f -- \"$current\"))\n}\n"
         "complete -o filenames -F _qksolve qksolve\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc == 2 ? argv[1] : "";
  const std::vector<CommandDescription> commands = qksolve::app::describe(qksolve::app::all_commands());
  if (kind == "markdown")
    std::cout << markdown(commands);
  else if (kind == "man")
    std::cout << man_page(commands);
  else if (kind == "bash")
    std::cout << completion(commands);
  else {
    std::cerr << "usage: qksolve-documents markdown|man|bash\n";
    return 2;
  }
  return std::cout.flush() ? 0 : 4;
}
