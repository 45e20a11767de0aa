// coupled solve --projections.
#include "fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace qksolve;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  // Read together with the options; the output that cannot be opened ends the command before it computes.
  fuzz::run_command(app::coupled_solve(), {"coupled", "solve", "--projections", file.path(),
                                           "--head-dimension", "2", "--output", "/proc/none/result.json"});
  return 0;
}
