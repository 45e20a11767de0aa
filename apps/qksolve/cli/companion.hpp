// Commands that are programs of their own, beside this one, started as git starts its external commands.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace qksolve::app {

// Becomes the program `name`, which lies where this program really lies, with these arguments. Returns only
// where there is no such program. Throws FileError where it cannot be started.
void become_companion(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace qksolve::app
