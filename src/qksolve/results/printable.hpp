// Text that was not written by this program, for a terminal or a line of a file.
#pragma once

#include <string>

namespace qksolve::results {

// `text` on one line, with nothing in it that a terminal would obey: control characters, those of Latin-1 in
// UTF-8 too, as "\x1b".
std::string printable(const std::string& text);

}  // namespace qksolve::results
