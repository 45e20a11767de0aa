#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "commands.hpp"
#include "qksolve/numerics/task_farm.hpp"

int main(int argc, char** argv) {
  qksolve::app::prepare_process();
  // Of the processes that mpirun starts the first one speaks for all.
  std::ostringstream nowhere;
  const bool first = qksolve::numerics::launched_rank() == 0;
  return qksolve::app::run_program(std::vector<std::string>(argv, argv + argc), first ? std::cout : nowhere,
                                   first ? std::cerr : nowhere);
}
