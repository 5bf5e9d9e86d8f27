// The verbs. Each is defined in a file verb.cc or verb_x.cc of its slice, as
// `extern constinit const Verb x_verb{…}`; one with a group is below the program, one of a study
// below `tabane study`. Errors leave run() as exceptions, which main() turns into a sentence and a
// code.
#pragma once

#include <string>

#include "tabane/program/args.h"

namespace tabane::program {

// The program, of which the verbs are a part.
extern const Verb tabane_program;

// Both end with nullptr; cmake/Verbs.cmake writes them from what it finds in the slices.
extern const Verb* const kVerbs[];
extern const Verb* const kStudies[];

// Verbs may be in modules, so that what one tool needs is loaded for no other. Returns the verb
// that is the variable `name` of this namespace in a module, tabane_MODULE.so. throws: core::Error
// with the module's path if it is missing, broken or of another build.
const Verb& load_verb(const char* module, const char* name);

// Version, compiler, build type and the libraries that the program was built with: several lines.
std::string version_text();

}  // namespace tabane::program
