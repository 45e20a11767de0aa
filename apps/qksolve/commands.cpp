#include "commands.hpp"

namespace qksolve::app {

const Commands& all_commands() {
  static const Commands all{
      {{"phase", "The positional/semantic phase transition of dot-product attention"},
       {"flow", "Gradient flow of the query-key and output-value circuits of one-layer attention"},
       {"coupled", "Queries and keys that evolve together before attention is scored"},
       {"deep", "What the samples of a two-layer sequence model can tell at best"}},
      {
          phase_solve(),
          phase_critical(),
          phase_sweep(),
          phase_simulate(),
          flow_solve(),
          flow_simulate(),
          flow_train(),
          coupled_solve(),
          coupled_train(),
          deep_critical(),
          compare(),
          combine(),
          plot(),
          schema(),
      }};
  return all;
}

int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err) {
  return run_commands(argv, out, err, all_commands());
}

}  // namespace qksolve::app
