// The program as a function, callable from tests.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace qksolve::app {

// argv[0] is the program's name. Results go to `out`, everything else to `err`. Returns the exit code.
int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err);

// The same with other commands: `add` adds them.
int run_commands(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err,
                 const std::function<void(CLI::App&, Context&)>& add);

// Standard streams, signals and limits of this process as the program wants them; first thing in main.
void prepare_process();

}  // namespace qksolve::app
