#include "tabane/cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "tabane/core/units.h"

namespace tabane::cli {
namespace {

// Width in columns: UTF-8 continuation bytes take none.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool numeric(const std::string& cell) {
  if (cell.empty()) return true;
  return std::isdigit(static_cast<unsigned char>(cell.front())) || cell.starts_with("-") ||
         cell.starts_with("–");
}

}  // namespace

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::size_t columns = 0;
  for (const auto& row : rows) columns = std::max(columns, row.size());
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> right(columns, rows.size() > 1);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      widths[c] = std::max(widths[c], width(rows[r][c]));
      if (r > 0 && !numeric(rows[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - width(row[c]), ' ');
      if (c > 0) line += "  ";
      line += right[c] ? pad + row[c] : row[c] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string result_line(const lab::Result& result) {
  std::string value =
      result.value ? core::format_value(*result.value, result.unit) : "not measured";
  std::string spread;
  if (result.value && result.interval && *result.value != 0) {
    const double half =
        (result.interval->high - result.interval->low) / 2 / std::abs(*result.value);
    spread = fmt::format("± {:.1f} %", 100 * half);
  }
  std::string share;
  if (const auto of_limit = result.of_limit())
    share = fmt::format("{:3.0f} % of limit", 100 * *of_limit);
  std::string line = fmt::format("{:<34} {:>14}  {:<9} {}", result.name, value, spread, share);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace tabane::cli
