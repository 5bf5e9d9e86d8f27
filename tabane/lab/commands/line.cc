#include <algorithm>
#include <cctype>

#include "tabane/core/error.h"
#include "tabane/lab/commands/child.h"

namespace tabane::lab {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Takes what is in quotes, up to the closing one, from `at`.
std::string quoted(std::string_view line, std::size_t& at) {
  const char quote = line[at++];
  std::string text;
  for (; at < line.size() && line[at] != quote; ++at) {
    const bool escapes = quote == '"' && line[at] == '\\' && at + 1 < line.size() &&
                         std::string_view("\"\\$`\n").find(line[at + 1]) != std::string_view::npos;
    if (escapes) ++at;
    text += line[at];
  }
  if (at >= line.size())
    throw core::UsageError("'" + std::string(line) + "': the quote " + quote + " is not closed");
  ++at;
  return text;
}

// Takes a word from `at`, where it begins.
std::string word(std::string_view line, std::size_t& at) {
  std::string text;
  while (at < line.size() && !is_blank(line[at])) {
    if (line[at] == '\'' || line[at] == '"') {
      text += quoted(line, at);
      continue;
    }
    if (line[at] == '\\' && at + 1 < line.size()) ++at;
    text += line[at++];
  }
  return text;
}

// The name in braces that begins at `at`; empty if there is none.
std::string_view name_at(std::string_view line, std::size_t at) {
  if (line[at] != '{' || (at > 0 && line[at - 1] == '$')) return {};
  std::size_t end = at + 1;
  while (end < line.size() && (in_name(line[end]) || line[end] == '-')) ++end;
  if (end == line.size() || line[end] != '}') return {};
  return line.substr(at + 1, end - at - 1);
}

}  // namespace

std::vector<std::string> words_of_line(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();)
    if (is_blank(line[at]))
      ++at;
    else
      words.push_back(word(line, at));
  return words;
}

std::string filled_in(std::string_view line,
                      std::span<const std::pair<std::string, std::string>> values) {
  std::string text;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const std::string_view name = name_at(line, at);
    const auto value = std::ranges::find_if(
        values, [&](const auto& each) { return !name.empty() && each.first == name; });
    if (value == values.end()) {
      text += line[at];
      continue;
    }
    text += value->second;
    at += name.size() + 1;
  }
  return text;
}

std::vector<std::string> placeholders_of(std::string_view line) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const std::string name(name_at(line, at));
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

ChildCommand command_of_line(const std::string& line, const std::string& shell) {
  std::vector<std::string> words = words_of_line(shell);
  if (words.empty()) {
    words = words_of_line(line);
  } else {
    words.insert(words.end(), {"-c", line});
  }
  if (words.empty() || std::ranges::all_of(line, is_blank))
    throw core::UsageError("a command is empty");
  return {.arguments = std::move(words)};
}

}  // namespace tabane::lab
