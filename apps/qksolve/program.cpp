#include "program.hpp"

#include <algorithm>
#include <cctype>
#include <exception>
#include <ostream>

#include "command.hpp"
#include "usage.hpp"

namespace qksolve::app {

namespace {

// CLI11 would take `-1` and `-.5` for options: bind a number to the option before it.
std::vector<std::string> bind_negative_numbers(const std::vector<std::string>& argv) {
  std::vector<std::string> bound;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    const bool number = word.size() > 1 && word[0] == '-' &&
                        (std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.');
    const bool after_option =
        !bound.empty() && bound.back().rfind("--", 0) == 0 && bound.back().find('=') == std::string::npos;
    if (number && after_option)
      bound.back() += "=" + word;
    else
      bound.push_back(word);
  }
  return bound;
}

}  // namespace

int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err) {
  Context context{out, err, argv, {}};
  CLI::App app{"qksolve: what theory predicts about query-key attention, and the experiments that check it"};
  app.name("qksolve");
  app.set_version_flag("--version",
                       std::string("qksolve ") + results::version() + " (" + results::git_commit() + ")");
  app.require_subcommand(1);
  CLI::App* phase =
      app.add_subcommand("phase", "The positional/semantic phase transition of dot-product attention");
  phase->require_subcommand(1);
  add_phase_solve(*phase, context);
  add_phase_critical(*phase, context);
  add_phase_simulate(*phase, context);
  CLI::App* flow = app.add_subcommand(
      "flow", "Gradient flow of the query-key and output-value circuits of one-layer attention");
  flow->require_subcommand(1);
  add_flow_solve(*flow, context);
  add_flow_simulate(*flow, context);
  add_compare(app, context);

  std::vector<std::string> words = bind_negative_numbers(argv);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
    return context.action();
  } catch (const CLI::Success& success) {
    return app.exit(success, out, err);
  } catch (const CLI::ParseError& error) {
    err << "qksolve: " << error.what() << "\n";
    return kUsage;
  } catch (const UsageError& error) {
    err << "qksolve: " << error.what() << "\n";
    return kUsage;
  } catch (const results::ContentError& error) {
    err << "qksolve: " << error.what() << "\n";
    return kUsage;
  } catch (const results::FileError& error) {
    err << "qksolve: " << error.what() << "\n";
    return kFile;
  } catch (const std::exception& error) {
    err << "qksolve: internal error: " << error.what() << "\n";
    return kInternal;
  }
}

}  // namespace qksolve::app
