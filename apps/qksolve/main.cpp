#include <iostream>
#include <string>
#include <vector>

#include "command.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  qksolve::app::install_interrupt_handlers();
  return qksolve::app::run_program(std::vector<std::string>(argv, argv + argc), std::cout, std::cerr);
}
