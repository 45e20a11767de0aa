// Records as a table for programs that do not read JSON.
#pragma once

#include <iosfwd>

#include "qksolve/results/result.hpp"

namespace qksolve::results {

// Comma-separated values (RFC 4180, lines ending in a line feed) of flat records: a header line, then a line
// per record. Columns in order of first appearance over all records; an empty cell where a record lacks the
// key. Numbers are printed as in the JSON, so that they read back as the same double. No records: nothing.
// The records are emitted twice.
void write_csv(std::ostream& out, const RecordSource& records);

}  // namespace qksolve::results
