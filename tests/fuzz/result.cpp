// Result files, and what compare, plot and combine make of them.
#include "qksolve/results/result.hpp"

#include "fuzz/target.hpp"
#include "qksolve/results/compare.hpp"
#include "qksolve/results/figures/plot.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace qksolve;
  const std::string text(reinterpret_cast<const char*>(data), size);
  results::Json result;
  if (!fuzz::read_or_refuse([&] { result = results::parse_result("result", text); })) return 0;
  fuzz::read_or_refuse([&] { results::compare_results(result, "a", result, "b", 4); });
  fuzz::read_or_refuse([&] {
    const results::Figure figure = results::make_figure({{"a", result}, {"b", result}});
    results::gnuplot_script(figure, "figure.svg", "figure.dat");
    results::gnuplot_table(figure);
  });
  if (result["schema"] == "qksolve.phase.simulate/1") {
    const fuzz::MemoryFile file(text);
    fuzz::run_command(app::combine(), {"combine", file.path()});
  }
  return 0;
}
