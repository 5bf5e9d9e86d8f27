#include "tabane/program/layout.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <numeric>
#include <ranges>
#include <set>
#include <sstream>
#include <utility>

namespace tabane::program {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  const bool overlong = code < (bytes == 4 ? 0x10000U : bytes == 3 ? 0x800U : 0x80U);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) return {};
  return {code, bytes};
}

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
  for (const auto& part : std::views::split(text, ' ')) {
    std::string_view word(part.begin(), part.end());
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

namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowestWords = 24;  // in columns: a narrower paragraph is hard to read
constexpr std::size_t kIndentBelow = 4;

struct Column {
  std::size_t index = 0;
  std::size_t width = 0;
  std::size_t narrowest = 0;  // what it may be wrapped to
  bool number = true;
};

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (const auto& word : std::views::split(text, ' '))
    longest = std::max(longest, display_width({word.begin(), word.end()}));
  return longest;
}

bool looks_like_number(const std::string& cell) {
  if (cell.empty()) return true;
  return std::isdigit(static_cast<unsigned char>(cell.front())) != 0 || cell.starts_with("-") ||
         cell.starts_with("–");
}

std::vector<Column> columns_of(const Rows& rows) {
  std::vector<Column> columns;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      if (c == columns.size()) columns.push_back({.index = c, .number = rows.size() > 1});
      columns[c].width = std::max(columns[c].width, display_width(rows[r][c]));
      columns[c].narrowest = std::max(columns[c].narrowest, longest_word(rows[r][c]));
      if (r > 0 && !looks_like_number(rows[r][c])) columns[c].number = false;
    }
  }
  for (Column& column : columns) {
    const std::size_t least = std::max(column.narrowest, kNarrowestWords);
    column.narrowest = column.number ? column.width : std::min(column.width, least);
  }
  return columns;
}

std::size_t width_of(const std::vector<Column>& columns) {
  return std::accumulate(columns.begin(), columns.end(), (columns.size() - 1) * kGap,
                         [](std::size_t sum, const Column& column) { return sum + column.width; });
}

bool can_wrap(const Column& column) { return column.width > column.narrowest; }

// Narrows the widest of the columns that can wrap until all fit. Returns false if that is not
// enough.
bool shrink(std::vector<Column>& columns, std::size_t width) {
  while (width_of(columns) > width) {
    const auto spare = [](const Column& c) { return can_wrap(c) ? c.width : 0; };
    const auto widest = std::ranges::max_element(columns, {}, spare);
    if (!can_wrap(*widest)) return false;
    --widest->width;
  }
  return true;
}

std::string cell_of(const std::vector<std::string>& row, const Column& column) {
  return column.index < row.size() ? row[column.index] : "";
}

std::vector<std::string> lines_of(const std::string& cell, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream text(wrap_text(cell, width));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// One row, as many lines as its longest cell takes.
std::string row_text(const std::vector<std::string>& row, const std::vector<Column>& columns) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const Column& column : columns) {
    cells.push_back(lines_of(cell_of(row, column), column.width));
    height = std::max(height, cells.back().size());
  }
  std::string text;
  for (std::size_t h = 0; h < height; ++h) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string cell = h < cells[c].size() ? cells[c][h] : "";
      const std::size_t used = std::min(display_width(cell), columns[c].width);
      const std::string pad(columns[c].width - used, ' ');
      if (c > 0) line += std::string(kGap, ' ');
      line += columns[c].number ? pad + cell : cell + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// The table with the columns `below` under each row.
std::string table_text(const Rows& rows, const std::vector<Column>& beside,
                       const std::vector<Column>& below, std::size_t width) {
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += row_text(rows[r], beside);
    for (const Column& column : below) {
      if (r == 0 || cell_of(rows[r], column).empty()) continue;
      const std::string cell = cell_of(rows[0], column) + ": " + cell_of(rows[r], column);
      for (const std::string& line : lines_of(cell, width - kIndentBelow)) {
        text += std::string(kIndentBelow, ' ') + line + "\n";
      }
    }
  }
  return text;
}

// Moves the columns that can wrap out of `columns`, then the last ones until the others fit.
std::vector<Column> take_below(std::vector<Column>& columns, std::size_t width) {
  std::vector<Column> below;
  const auto stay = std::stable_partition(columns.begin(), columns.end(), [](const Column& column) {
    return column.index == 0 || !can_wrap(column);
  });
  below.assign(stay, columns.end());
  columns.erase(stay, columns.end());
  if (below.empty()) return below;
  while (columns.size() > 1 && width_of(columns) > width) {
    below.insert(below.begin(), columns.back());
    columns.pop_back();
  }
  return below;
}

// The first columns that tell the rows apart; fewer if there would be no room for any other.
std::vector<Column> keys_of(const Rows& rows, const std::vector<Column>& columns,
                            std::size_t width) {
  const std::size_t widest = std::ranges::max(columns, {}, &Column::width).width;
  std::vector<Column> keys = {columns.front()};
  while (keys.size() + 1 < columns.size()) {
    std::set<std::vector<std::string>> different;
    for (const auto& row : rows) {
      std::vector<std::string> key;
      for (const Column& column : keys) key.push_back(cell_of(row, column));
      different.insert(std::move(key));
    }
    const Column& next = columns[keys.size()];
    const std::size_t taken = width_of(keys) + kGap + next.width + kGap + widest;
    if (different.size() == rows.size() || taken > width) break;
    keys.push_back(next);
  }
  return keys;
}

// Several tables, one below the other, each with the columns that tell the rows apart and the
// others that fit.
std::string split_table(const Rows& rows, const std::vector<Column>& columns, std::size_t width) {
  const std::vector<Column> keys = keys_of(rows, columns, width);
  std::string text;
  for (std::size_t next = keys.size(); next < columns.size();) {
    std::vector<Column> part = keys;
    do {
      part.push_back(columns[next++]);
    } while (next < columns.size() && width_of(part) + kGap + columns[next].width <= width);
    text += (text.empty() ? "" : "\n") + table_text(rows, part, {}, width);
  }
  return text;
}

}  // namespace

std::string fit_table(const std::vector<std::vector<std::string>>& rows, std::size_t width) {
  std::vector<Column> columns = columns_of(rows);
  if (columns.empty()) return "";
  width = std::max(width, kNarrowestTerminal);
  std::vector<Column> shrunk = columns;
  if (shrink(shrunk, width)) return table_text(rows, shrunk, {}, width);
  columns.front().width = std::min(columns.front().width, width);
  const std::vector<Column> below = take_below(columns, width);
  if (width_of(columns) <= width) return table_text(rows, columns, below, width);
  return split_table(rows, columns, width);
}

}  // namespace tabane::program
