// How a long computation is told to stop.
#pragma once

#include <exception>
#include <functional>

namespace qksolve::numerics {

// Whether to stop; empty: never. Asked in inner loops, after a tenth of a second of work at the latest, from
// several threads at once: it must be quick, and once true stay true.
using Interrupt = std::function<bool()>;

// Thrown out of a computation that was told to stop: it has no result, and what it was working on is not to
// be used.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

inline void throw_if(const Interrupt& interrupted) {
  if (interrupted && interrupted()) throw Interrupted();
}

}  // namespace qksolve::numerics
