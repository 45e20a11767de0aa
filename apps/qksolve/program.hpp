// The program as a function, callable from tests.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace qksolve::app {

// argv[0] is the program's name. Results go to `out`, everything else to `err`. Returns the exit code.
int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err);

}  // namespace qksolve::app
