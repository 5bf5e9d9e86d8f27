#include "tabane/cli/verb_words.h"

#include "tabane/core/error.h"

namespace tabane::cli {

// CLI11 keeps the mark, and also any option that it does not know.
std::vector<std::string> command_of(const CLI::App& verb, const std::string& program) {
  std::vector<std::string> rest = verb.remaining();
  const std::string name = verb.get_name();
  if (!rest.empty() && rest.front() == "--") {
    rest.erase(rest.begin());
  } else if (!rest.empty() && rest.front().starts_with('-')) {
    throw core::UsageError("there is no option '" + rest.front() + "'; see 'tabane " + name +
                           " --help', and write -- before the command");
  }
  rest.insert(rest.begin(), program);
  return rest;
}

}  // namespace tabane::cli
