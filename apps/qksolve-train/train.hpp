// The command `train`.
#pragma once

#include "cli/command.hpp"

namespace qksolve::app {

Command train();

}  // namespace qksolve::app
