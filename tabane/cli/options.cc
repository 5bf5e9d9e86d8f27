#include "tabane/cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

#include "tabane/cli/layout.h"

namespace tabane::cli {
namespace {

// Names on the left, a wrapped text on the right; below where the names or the terminal ask for it.
std::string entry(const std::string& names, const std::string& what) {
  const std::size_t width = layout_width(STDOUT_FILENO);
  const std::size_t left = width < 60 ? 8 : 30;
  const std::size_t taken = display_width(names) + 2;
  const std::string margin(left, ' ');
  const std::string gap =
      taken + 2 <= left ? margin.substr(taken) : std::string(1, '\n').append(margin);
  std::string text = wrap_text(what, width - left);
  for (std::size_t end = 0; (end = text.find('\n', end)) != std::string::npos; end += 1 + left) {
    text.insert(end + 1, margin);
  }
  return fmt::format("  {}{}{}\n", names, gap, text);
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool) const override {
    const OptionText text = text_of(*option);
    return entry(text.synopsis(), text.what);
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return entry(verb->get_name(), verb->get_description());
  }
  std::string make_description(const CLI::App* verb) const override {
    return wrap_text(verb->get_description(), layout_width(STDOUT_FILENO)) + "\n";
  }
};

// CLI11 puts the checks behind the name of the value: "NAME:{auto,shm,mpi}".
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t begin = type.find(":{");
  const std::size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 2, end - begin - 2), ',');
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

void show_examples_first(CLI::App& verb, const std::string& examples) {
  verb.formatter_fn([examples](const CLI::App* app, std::string name, CLI::AppFormatMode mode) {
    return "Examples:\n" + examples + "\n\n" + HelpFormatter().make_help(app, name, mode);
  });
}

void fit_help_to_terminal(CLI::App& app) { app.formatter(std::make_shared<HelpFormatter>()); }

CLI::Validator one_of(const std::vector<std::string>& names) {
  return CLI::Validator(
      [names](std::string& given) {
        if (std::ranges::find(names, given) != names.end()) return std::string();
        return fmt::format("there is no '{}'; legal are {}", given, fmt::join(names, ", "));
      },
      fmt::format("{{{}}}", fmt::join(names, ",")));
}

CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& given) {
        std::uint64_t number = 0;
        const char* const end = given.data() + given.size();
        const auto [rest, error] = std::from_chars(given.data(), end, number);
        if (error == std::errc() && rest == end) return std::string();
        return fmt::format("Value {} not in range 0 to {}", given,
                           std::numeric_limits<std::uint64_t>::max());
      },
      "");
}

std::string OptionText::synopsis() const {
  if (names.empty()) return value;
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  if (value.empty()) return all;
  if (value_after_equals) return fmt::format("{}[={}]", all, value);
  return all + (value_optional ? " [" + value + "]" : " " + value);
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  const std::string type = option.get_type_name();
  text.choices = choices_in(type);
  text.what = option.get_description();
  if (!option.nonpositional()) {
    text.value = option.get_name(true);
    return text;
  }
  text.names = names_of(option);
  for (const CLI::Option* other : option.get_excludes()) {
    for (std::string& name : names_of(*other)) text.excludes.push_back(std::move(name));
  }
  if (option.get_items_expected_max() == 0) return text;
  const std::string shown = type.substr(0, type.find(':'));
  text.value_after_equals = shown.starts_with("[=");
  text.value_optional = option.get_items_expected_min() == 0;
  const std::size_t begin = text.value_after_equals ? 2 : text.value_optional ? 1 : 0;
  text.value = text.value_optional ? shown.substr(begin, shown.size() - begin - 1) : shown;
  text.repeatable = option.get_items_expected_max() > 1;
  return text;
}

std::vector<OptionText> options_of(const CLI::App& verb) {
  std::vector<OptionText> texts;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_group().empty() || !option->nonpositional()) continue;
    texts.push_back(text_of(*option));
  }
  // CLI11 begins with --help.
  if (!texts.empty()) std::rotate(texts.begin(), texts.begin() + 1, texts.end());
  return texts;
}

std::vector<OptionText> positionals_of(const CLI::App& verb) {
  std::vector<OptionText> texts;
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->nonpositional()) texts.push_back(text_of(*option));
  }
  return texts;
}

std::vector<const CLI::App*> verbs_of(const CLI::App& verb) {
  return verb.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

}  // namespace tabane::cli
