// The program.
#include "tabane/program/command.h"
#include "tabane/program/version.h"

namespace tabane::program {
namespace {

Definition define() {
  return {.options = {{"-V,--version",
                       {},
                       "Print the version, the compiler and the libraries, and exit",
                       {.answer = [] { return version_text() + "\n"; }}}},
          .run = {}};
}

}  // namespace

constinit const Verb tabane_program{
    .name = "tabane",
    .what = "Bundle cores, memory and machines into one fast job, and show its limits",
    .define = define,
    .below = kVerbs};

}  // namespace tabane::program
