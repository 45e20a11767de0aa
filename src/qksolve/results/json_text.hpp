// The way in which all JSON of files is read.
#pragma once

#include <string>
#include <vector>

#include "qksolve/results/result.hpp"

namespace qksolve::results {

// The value of `text`, which begins at line `first_line` of the file `path`. Throws ContentError, naming file
// and line, if it is not valid JSON, has a number beyond the range of a double or is nested deeper than 100,
// if an object has a key twice, or if the outermost object has one that is not `known` (none: all are).
Json parse_json(const std::string& path, const std::string& text, const std::vector<std::string>& known = {},
                std::size_t first_line = 1);

}  // namespace qksolve::results
