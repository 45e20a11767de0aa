// The commands of qksolve, each in a file of its own.
#pragma once

#include "cli/command.hpp"
#include "cli/program.hpp"

namespace qksolve::app {

Command phase_solve();
Command phase_critical();
Command phase_sweep();
Command phase_simulate();
Command flow_solve();
Command flow_simulate();
Command flow_train();
Command coupled_solve();
Command coupled_train();
Command deep_critical();
Command compare();
Command combine();
Command plot();
Command schema();

// All of them.
const Commands& all_commands();

// The program as a function, callable from tests: run_commands with all commands.
int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err);

}  // namespace qksolve::app
