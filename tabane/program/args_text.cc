// What is said of options: how they are written, their help, and words for a shell.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "tabane/program/args.h"
#include "tabane/program/layout.h"

namespace tabane::program {
namespace {

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-+=./:,@%^").find(c) != std::string_view::npos;
}

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

}  // namespace

Words split_words(const std::string& text, char at) {
  Words parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string shell_word(std::string_view word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

Option::Option(const std::string& typed, Target target, std::string text, Rules legal)
    : to(std::move(target)), what(std::move(text)), rules(std::move(legal)) {
  const std::size_t begin = typed.starts_with('-') ? typed.find_first_of(" [") : 0;
  names = split_words(typed.substr(0, begin), ',');
  if (begin == std::string::npos) return;
  value_after_equals = typed[begin] == '[';
  value = value_after_equals ? typed.substr(begin + 2, typed.size() - begin - 3)
          : begin == 0       ? typed
                             : typed.substr(begin + 1);
}

bool Option::is_repeatable() const {
  return rules.repeatable || std::holds_alternative<Words*>(to) ||
         std::holds_alternative<std::vector<unsigned>*>(to) ||
         std::holds_alternative<std::vector<std::uint64_t>*>(to);
}

bool Option::excludes(const Option& other) const {
  const auto rules_out = [](const Option& one, const Option& two) {
    return std::ranges::find(one.rules.excludes, two.name()) != one.rules.excludes.end();
  };
  return rules_out(*this, other) || rules_out(other, *this);
}

std::size_t Option::words() const {
  return static_cast<std::size_t>(std::ranges::count(value, ' ')) + 1;
}

std::string Option::synopsis() const {
  if (is_positional()) return value;
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  if (is_flag()) return all;
  return value_after_equals ? fmt::format("{}[={}]", all, value) : all + " " + value;
}

const Words* Given::words(const std::string& name) const {
  const auto at =
      std::ranges::find_if(items, [&](const Item& item) { return item.option->name() == name; });
  return at == items.end() ? nullptr : &at->words;
}

std::string Given::line(std::initializer_list<std::string_view> without) const {
  std::vector<Item> sorted = items;
  std::ranges::sort(sorted, {}, &Item::option);
  std::string text = verb, rest;
  for (auto& [option, words] : sorted) {
    const std::string& name = option->name();
    if (std::ranges::find(without, name) != without.end()) continue;
    if (option->is_positional()) {
      if (option->rules.is_command) rest += " --";
      for (const std::string& word : words) rest += " " + shell_word(word);
      continue;
    }
    if (option->rules.commas) words = {fmt::format("{}", fmt::join(words, ","))};
    const auto* const flag = std::get_if<bool*>(&option->to);
    const bool off = flag != nullptr && *flag != nullptr && !**flag;  // --quick=false
    if (option->is_flag() && !off) text += " " + name;
    for (std::size_t i = 0; !option->is_flag() && i < words.size(); ++i) {
      if (i % option->words() == 0) text += " " + name;
      text += (option->value_after_equals ? "=" : " ") + shell_word(words[i]);
    }
  }
  return text + (rest.starts_with(" -") && !rest.starts_with(" -- ") ? " --" : "") + rest;
}

namespace {

std::string usage_of(const Verb& verb, const std::string& name, const Definition& definition) {
  std::string text = name + " [OPTIONS]";
  for (const Option& option : definition.options) {
    if (!option.is_positional()) continue;
    const std::string shown =
        option.value + (option.is_repeatable() && !option.rules.is_command ? "..." : "");
    text += option.rules.required ? " " + shown : " [" + shown + "]";
  }
  if (verb.below != nullptr) text += definition.run ? " [SUBCOMMAND]" : " SUBCOMMAND";
  return text;
}

}  // namespace

std::string usage(const Verb& verb, const std::string& name) {
  return usage_of(verb, name, definition_of(verb));
}

std::string help_text(const Verb& verb, const std::string& name) {
  Definition definition = definition_of(verb);
  std::vector<Option>& options = definition.options;
  std::rotate(options.begin(), options.end() - 1, options.end());
  std::string text = verb.examples ? fmt::format("Examples:\n{}\n\n", verb.examples) : "";
  text += wrap_text(verb.what, layout_width(STDOUT_FILENO)) +
          "\nUsage: " + usage_of(verb, name, definition) + "\n";
  std::string positionals, flags, verbs;
  std::string group;
  for (const Option& option : options) {
    if (option.rules.hidden) continue;
    (option.is_positional() ? positionals : flags) += entry(option.synopsis(), option.what);
  }
  for (const Verb* each : below(verb)) {
    if (each->hidden) continue;
    if (each->group && each->group != group) verbs += fmt::format("\n{}:\n", group = each->group);
    verbs += entry(each->name, each->what);
  }
  if (!positionals.empty()) text += "\nPositionals:\n" + positionals;
  text += "\nOptions:\n" + flags;
  if (!verbs.empty()) text += (verbs[0] == '\n' ? "" : "\nSubcommands:\n") + verbs;
  return text + "\n";
}

}  // namespace tabane::program
