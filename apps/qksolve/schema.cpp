// qksolve schema: the JSON Schema of a result.
#include <ostream>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "qksolve/results/schemas.hpp"

namespace qksolve::app {

namespace {

struct Arguments {
  std::string name;

  void declare(Options& options) {
    options.positional_choice("name", name, results::schema_names(), "Kind of result");
  }
  void finish(const Options&) const {}
};

int run(const Arguments& arguments, const Options&, Context& context) {
  context.out << results::schema(arguments.name).dump(2) << "\n" << std::flush;
  if (!context.out) throw results::FileError("cannot write to standard output");
  return kDone;
}

}  // namespace

Command schema() {
  return make_command<Arguments>("", "schema", "The JSON Schema of a kind of result",
                                 "qksolve schema phase.solve", run);
}

}  // namespace qksolve::app
