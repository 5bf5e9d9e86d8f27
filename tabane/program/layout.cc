#include "tabane/program/layout.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tabane/program/utf8.h"

namespace tabane::program {
namespace {

constexpr std::size_t kWidthOfFiles = 100;
constexpr std::size_t kUsualTerminal = 80;

using Range = std::pair<char32_t, char32_t>;

// Unicode's combining marks and zero-width characters, and its wide ones (UAX 11), by blocks.
constexpr Range kNoWidth[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},
                              {0x610, 0x61A},   {0x64B, 0x65F},   {0x1AB0, 0x1AFF},
                              {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
                              {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                           {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
                           {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
                           {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <std::size_t kSize>
bool in(const Range (&ranges)[kSize], char32_t code) {
  return std::ranges::any_of(
      ranges, [code](const Range& range) { return code >= range.first && code <= range.second; });
}

std::size_t width_of(const Character& character) {
  if (character.bytes == 0) return 1;
  if (in(kNoWidth, character.code)) return 0;
  return in(kWide, character.code) ? 2 : 1;
}

// The longest beginning of at most `width` columns, and its width.
std::pair<std::string_view, std::size_t> beginning(std::string_view line, std::size_t width) {
  std::size_t bytes = 0;
  std::size_t columns = 0;
  while (bytes < line.size()) {
    const Character next = first_character(line.substr(bytes));
    if (width_of(next) > width - columns) break;
    columns += width_of(next);
    bytes += std::max<std::size_t>(next.bytes, 1);
  }
  return {line.substr(0, bytes), columns};
}

// Lines of a paragraph without line ends: the first of at most `first`, others of `rest` columns.
std::vector<std::string> wrapped_lines(std::string_view text, std::size_t first, std::size_t rest) {
  std::vector<std::string> lines = {""};
  std::size_t room = std::max<std::size_t>(first, 1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t blank = lines.back().empty() ? 0 : 1;
    if (blank == 1 && display_width(word) >= room) {
      lines.emplace_back();
      room = rest;
    } else if (blank == 1) {
      lines.back() += ' ';
      --room;
    }
    while (display_width(word) > room) {
      // A character wider than the line goes there all the same.
      auto [head, columns] = beginning(word, room);
      if (head.empty() && lines.back().empty()) head = word.substr(0, first_character(word).bytes);
      lines.back() += head;
      word.remove_prefix(head.size());
      lines.emplace_back();
      room = rest;
    }
    lines.back() += word;
    room -= display_width(word);
  }
  if (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::optional<std::size_t> terminal_width(int descriptor) {
  if (isatty(descriptor) != 1) return std::nullopt;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualTerminal;
  return std::max<std::size_t>(size.ws_col, kNarrowestTerminal);
}

std::size_t layout_width(int descriptor, bool wide) {
  if (wide) return kNoLimit;
  if (const auto width = terminal_width(descriptor)) return *width;
  const char* columns = std::getenv("COLUMNS");
  const std::size_t given = columns == nullptr ? 0 : std::strtoul(columns, nullptr, 10);
  return given >= kNarrowestTerminal ? given : kWidthOfFiles;
}

std::size_t display_width(std::string_view line) { return beginning(line, kNoLimit).second; }

std::string cut_to_width(std::string_view line, std::size_t width) {
  if (display_width(line) <= width) return std::string(line);
  if (width == 0) return "";
  return std::string(beginning(line, width - 1).first) + "…";
}

std::string wrap_text(std::string_view text, std::size_t width, std::size_t indent) {
  const std::size_t rest = width > indent ? width - indent : 1;
  const std::string margin = "\n" + std::string(indent, ' ');
  std::string wrapped;
  bool first = true;
  do {
    const std::size_t end = std::min(text.find('\n'), text.size());
    for (const std::string& line : wrapped_lines(text.substr(0, end), first ? width : rest, rest)) {
      wrapped += first ? line : line.empty() ? "\n" : margin + line;
      first = false;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  } while (!text.empty());
  return wrapped;
}

}  // namespace tabane::program
