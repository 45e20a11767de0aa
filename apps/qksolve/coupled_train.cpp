// qksolve coupled train: the program qksolve-train (apps/qksolve-train), which needs LibTorch.
#include <ostream>

#include "cli/companion.hpp"
#include "cli/usage.hpp"
#include "commands.hpp"

namespace qksolve::app {

namespace {

void start(const std::vector<std::string>& words, Context& context) {
  context.out.flush();
  context.err.flush();
  become_companion("qksolve-train", words);
  throw UsageError(
      "coupled train: the program qksolve-train is missing, expected the Debian packages libtorch-dev and "
      "libopenblas-dev and a new build (cmake --fresh -S . -B .build/release && cmake --build "
      ".build/release)");
}

}  // namespace

Command coupled_train() {
  return {.group = "coupled",
          .name = "train",
          .summary = "Small transformers with standard, coupled, uncoupled and differential attention",
          .example = "",
          .declare = {},
          .start = start};
}

}  // namespace qksolve::app
