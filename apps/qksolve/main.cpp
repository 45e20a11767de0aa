#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "command.hpp"
#include "program.hpp"
#include "qksolve/numerics/task_farm.hpp"

int main(int argc, char** argv) {
  // A file opened later must not take the place of a standard stream that was closed; writing there still
  // fails.
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = open("/dev/null", O_RDONLY);
  close(descriptor);
  // A closed pipe or a full quota is an error of the write.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  qksolve::app::install_interrupt_handlers();
  // Of the processes that mpirun starts the first one speaks for all.
  std::ostringstream nowhere;
  const bool first = qksolve::numerics::launched_rank() == 0;
  return qksolve::app::run_program(std::vector<std::string>(argv, argv + argc), first ? std::cout : nowhere,
                                   first ? std::cerr : nowhere);
}
