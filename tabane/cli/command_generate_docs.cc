// tabane generate-docs: what the build installs beside the program; not for people.
#include <cstdio>
#include <memory>

#include "tabane/cli/command.h"
#include "tabane/cli/documents.h"
#include "tabane/cli/options.h"
#include "tabane/core/output_path.h"

namespace tabane::cli {

void add_generate_docs_command(CLI::App& app, int&) {
  struct Options {
    std::string document;
    std::string page_template;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "generate-docs", "Write the man page or a completion from the command line's definitions");
  verb->group("");
  verb->add_option("DOCUMENT", options->document, "Which document to write")
      ->check(one_of({"man", "bash", "zsh", "fish"}))
      ->required();
  verb->add_option("--template", options->page_template, "The man page's source")
      ->type_name("FILE");
  verb->add_option("-o,--output", options->output, "The file to write")
      ->type_name("FILE")
      ->required();
  verb->callback([options, &app] {
    const std::string& document = options->document;
    core::write_output(options->output, document == "man"
                                            ? man_page(app, core::read_file(options->page_template))
                                        : document == "bash" ? bash_completion(app)
                                        : document == "zsh"  ? zsh_completion(app)
                                                             : fish_completion(app));
  });
}

}  // namespace tabane::cli
