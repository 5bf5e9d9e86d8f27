#include "tabane/cli/document_parts.h"

namespace tabane::cli {

std::vector<Verb> all_verbs(const CLI::App& app) {
  std::vector<Verb> verbs = {{&app, ""}};
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    const Verb above = verbs[i];
    for (const CLI::App* each : verbs_of(*above.app)) {
      verbs.push_back({each, above.path + (above.path.empty() ? "" : " ") + each->get_name()});
    }
  }
  return verbs;
}

std::vector<std::string> names_below(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : verbs_of(app)) names.push_back(each->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const OptionText& option : options_of(app))
    flags.insert(flags.end(), option.names.begin(), option.names.end());
  return flags;
}

Values values_of(const OptionText& text) {
  if (text.value.empty()) return Values::none;
  if (!text.choices.empty()) return Values::names;
  if (text.value == "DIR") return Values::directories;
  if (text.value.starts_with("FILE") || text.value.starts_with("RECORD") || text.value == "IN" ||
      text.value == "OUT")
    return Values::files;
  return text.value == "COMMAND" ? Values::commands : Values::other;
}

bool takes(const CLI::App& app, Values values) {
  for (const OptionText& text : positionals_of(app)) {
    if (values_of(text) == values) return true;
  }
  return false;
}

}  // namespace tabane::cli
