// The command `train`.
#pragma once

#include "cli/command.hpp"

namespace qksolve::app {

void add_train(CLI::App& coupled, Context& context);

}  // namespace qksolve::app
