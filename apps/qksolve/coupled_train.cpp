// qksolve coupled train: the program qksolve-train (apps/qksolve-train), which needs LibTorch.
#include "cli/command.hpp"
#include "cli/companion.hpp"
#include "cli/usage.hpp"

namespace qksolve::app {

void add_coupled_train(CLI::App& coupled, Context& context) {
  CLI::App* command = coupled.add_subcommand(
      "train", "Small transformers with standard, coupled, uncoupled and differential attention");
  context.external[command] = [&context](const std::vector<std::string>& words) {
    context.out.flush();
    context.err.flush();
    become_companion("qksolve-train", words);
    throw UsageError(
        "coupled train: the program qksolve-train is missing, expected the Debian packages libtorch-dev and "
        "libopenblas-dev and a new build (cmake --fresh -S . -B .build/release && cmake --build "
        ".build/release)");
  };
}

}  // namespace qksolve::app
