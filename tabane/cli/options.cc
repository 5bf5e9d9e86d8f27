#include "tabane/cli/options.h"

namespace tabane::cli {

void show_examples_first(CLI::App& verb, const std::string& examples) {
  verb.formatter_fn([examples](const CLI::App* app, std::string name, CLI::AppFormatMode mode) {
    return "Examples:\n" + examples + "\n" + CLI::Formatter().make_help(app, name, mode);
  });
}

}  // namespace tabane::cli
