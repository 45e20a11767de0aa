// How the result of a sweep is written, by the run itself or from the work files of its shards.
#pragma once

#include "cli/command.hpp"
#include "qksolve/phase/report/sweep.hpp"

namespace qksolve::app {

// Assembles what the tasks found, writes it to `output` and prints the thresholds. Returns the exit code.
int write_sweep(const results::Sweep& sweep, const results::Sweep::Fetch& fetch, results::Result& result,
                results::Output& output, const RunArguments& run, Context& context);

}  // namespace qksolve::app
