// The program as a function, callable from tests.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace qksolve::app {

// A word that several commands begin with.
struct Group {
  std::string name, summary;
};

// The commands of a program; groups and commands in the order in which help shows them.
struct Commands {
  std::vector<Group> groups;
  std::vector<Command> commands;
};

// argv[0] is the program's name. Results go to `out`, everything else to `err`. Returns the exit code.
int run_commands(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err,
                 const Commands& commands);

// A command as documents show it.
struct CommandDescription {
  std::string name;  // "phase solve"
  std::string summary, example;
  std::vector<Options::Description> options;  // none of a command that is a program of its own
};
std::vector<CommandDescription> describe(const Commands& commands);

// Standard streams, signals and limits of this process as the program wants them; first thing in main.
void prepare_process();

}  // namespace qksolve::app
