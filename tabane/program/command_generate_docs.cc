// tabane generate-docs: what the build installs beside the program; not for people.
#include <cstdio>
#include <memory>

#include "tabane/core/output_path.h"
#include "tabane/program/command.h"
#include "tabane/program/documents.h"

namespace tabane::program {
namespace {

struct Options {
  std::string document, page_template, output;
};

int run(const Options& options) {
  const std::string& document = options.document;
  core::write_output(options.output,
                     document == "man"
                         ? man_page(tabane_program, core::read_file(options.page_template))
                     : document == "bash" ? bash_completion(tabane_program)
                     : document == "zsh"  ? zsh_completion(tabane_program)
                                          : fish_completion(tabane_program));
  return kOk;
}

Definition define() {
  const auto options = std::make_shared<Options>();
  return {{{"DOCUMENT",
            &options->document,
            "Which document to write",
            {.choices = {"man", "bash", "zsh", "fish"}, .required = true}},
           {"--template FILE", &options->page_template, "The man page's source"},
           {"-o,--output FILE", &options->output, "The file to write", {.required = true}}},
          [options](const Given&) { return run(*options); }};
}

}  // namespace

extern constinit const Verb generate_docs_verb{
    .name = "generate-docs",
    .what = "Write the man page or a completion from the command line's definitions",
    .group = "Build",
    .define = define,
    .hidden = true};

}  // namespace tabane::program
