// The man page and the shells' completions, from the tables of the verbs.
#pragma once

#include <string>
#include <vector>

#include "tabane/program/args.h"

namespace tabane::program {

// Returns the man page: a template in which the line "@options VERB@" stands for the table of the
// verb's options (of a verb with names below it: theirs), "@options others@" for the verbs that it
// has not named so far, "@options@" for the program's own options, and @version@ for the version.
// throws: core::UsageError if it names a verb that there is not.
std::string man_page(const Verb& program, const std::string& page_template);

std::string bash_completion(const Verb& program);
std::string zsh_completion(const Verb& program);
std::string fish_completion(const Verb& program);

// What --help shows of the program, a verb, or a name below one.
struct Documented {
  const Verb* verb;
  std::string path;  // "study ap1000"; empty: the program
  std::vector<const Verb*> below;
  std::vector<Option> options;  // --help is the last
  std::vector<Option> positionals;
};

Documented documented(const Verb& verb, const std::string& path);

}  // namespace tabane::program
