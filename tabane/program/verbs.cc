// The program and its verbs, in the order in which they are shown.
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

constexpr const Verb* kVerbs[] = {&survey_verb,  &report_verb, &study_verb,        &compare_verb,
                                  &tune_verb,    &run_verb,    &time_verb,         &encrypt_verb,
                                  &decrypt_verb, &verify_verb, &keygen_verb,       &rekey_verb,
                                  &epub_verb,    &scg_verb,    &linpack_verb,      &slalom_verb,
                                  &matmul_verb,  &mine_verb,   &generate_docs_verb};

}  // namespace

constinit const Verb tabane_program{
    .name = "tabane",
    .what = "Bundle cores, memory and machines into one fast job, and show its limits",
    .define = define,
    .below = kVerbs};

}  // namespace tabane::program
