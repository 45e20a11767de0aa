// --config: options from TOML, or from a result.
#include "cli/config.hpp"

#include "fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace qksolve;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  // What is read goes to the options: they must take or refuse it. The output that cannot be opened ends the
  // command before it computes.
  if (fuzz::read_or_refuse([&] { app::read_config(file.path(), "qksolve.phase.solve/1"); }))
    fuzz::run_command(app::phase_solve(),
                      {"phase", "solve", "--config", file.path(), "--output", "/proc/none/result.json"});
  return 0;
}
