// JSON Schemas (draft 2020-12) of the results. A schema is frozen: what changes a result in a way that its
// schema does not allow gets a new version.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "qksolve/results/provenance.hpp"

namespace qksolve::results {

// Kinds of results: "phase.solve", ...
std::vector<std::string> schema_names();

// The schema of one of them, complete in itself.
Json schema(const std::string& name);

// The files of the folder schemas by name without extension; `common` holds the definitions that all share.
const std::map<std::string, std::string>& schema_files();

}  // namespace qksolve::results
