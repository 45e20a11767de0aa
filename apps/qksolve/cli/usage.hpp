// How a command ends.
#pragma once

#include <stdexcept>

namespace qksolve::app {

enum ExitCode {
  kDone = 0,
  kUsage = 2,         // also: a file was read and its contents are bad
  kNotConverged = 3,  // finished, but a record that was asked for is not `converged`
  kFile = 4,          // a named file cannot be opened, read or written
  kInternal = 5,
  kInterrupted = 130
};

// A mistake in what the user asked for; the message is one line that names option, value and what is allowed.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace qksolve::app
