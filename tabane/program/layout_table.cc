#include <algorithm>
#include <cctype>
#include <numeric>
#include <sstream>

#include "tabane/program/layout.h"

namespace tabane::program {
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
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    longest = std::max(longest, display_width(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
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

// Several tables, one below the other, each with the first column and those that fit beside it.
std::string split_table(const Rows& rows, std::vector<Column> columns, std::size_t width) {
  const Column first = columns.front();
  std::string text;
  for (std::size_t next = 1; next < columns.size();) {
    std::vector<Column> part = {first};
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
