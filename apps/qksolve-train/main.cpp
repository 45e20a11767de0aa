// qksolve-train: the command `qksolve coupled train` as a program of its own, because LibTorch takes a second
// to load.
#include <iostream>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "qksolve/numerics/task_farm.hpp"
#include "train.hpp"

int main(int argc, char** argv) {
  using namespace qksolve::app;
  prepare_process();
  // Of the processes that mpirun starts the first one does it all.
  if (qksolve::numerics::launched_rank() != 0) return 0;
  std::vector<std::string> words{"qksolve", "coupled", "train"};
  words.insert(words.end(), argv + 1, argv + argc);
  return run_commands(words, std::cout, std::cerr, {{{"coupled", ""}}, {train()}});
}
