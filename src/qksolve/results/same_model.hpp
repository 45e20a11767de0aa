// Whether two results are about the same model.
#pragma once

#include <string>
#include <vector>

#include "qksolve/results/result.hpp"

namespace qksolve::results {

// object[key], which must satisfy `is`. Throws ContentError naming the file, the key and what was expected.
const Json& member(const std::string& file, const Json& object, const std::string& key,
                   const std::string& expected, bool (Json::*is)() const noexcept);

// Throws ContentError, naming file and key, unless both are results of one positional/semantic model: sigma,
// lambda, teacher matrix, tokens, ranks, positional matrix.
void require_same_phase_model(const Json& a, const std::string& name_a, const Json& b,
                              const std::string& name_b);

// The same for the gradient flow: task, learning rate and start.
void require_same_flow_model(const Json& a, const std::string& name_a, const Json& b,
                             const std::string& name_b);

// The same for results of training on text: the task.
void require_same_text(const Json& a, const std::string& name_a, const Json& b, const std::string& name_b);

}  // namespace qksolve::results
