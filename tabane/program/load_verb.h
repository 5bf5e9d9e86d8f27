// Verbs in modules, so that what one tool needs is loaded for no other.
#pragma once

#include "tabane/program/args.h"

namespace tabane::program {

// Returns the verb that is the variable `name` of this namespace in a module, tabane_MODULE.so.
// throws: core::Error with the module's path if it is missing, broken or of another build.
const Verb& load_verb(const char* module, const char* name);

}  // namespace tabane::program
