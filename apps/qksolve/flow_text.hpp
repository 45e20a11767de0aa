// The annotated text that `flow train` is asked for.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "qksolve/data/annotated/readers.hpp"

namespace qksolve::app {

struct TextArguments {
  std::string task = "agreement", data, input = "prefix", rationale = "mean";

  void declare(Options& options);
  // Throws UsageError for a missing --data, and for options that the task does not have.
  void finish() const;
  // Throws results::FileError where something cannot be read, results::ContentError where it is not what the
  // task needs, with the task that it looks like. `check` becomes a checksum of what was read.
  training::AnnotatedText read(std::string& check) const;
};

}  // namespace qksolve::app
