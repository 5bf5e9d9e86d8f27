#include "tabane/tools/matmul/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/tools/matmul/problem.h"

namespace tabane::matmul {
namespace {

constexpr std::string_view kBlanks = " \t\f\v";

struct Word {
  std::string_view text;
  std::size_t line, column;  // from 1
};

// The words of each line that has some; lines end with \n, \r\n or \r.
std::vector<std::vector<Word>> rows_of(std::string_view text) {
  std::vector<std::vector<Word>> rows;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view whole = text.substr(0, end);
    const std::string_view line = whole.substr(0, std::min(whole.find('#'), whole.size()));
    std::vector<Word> words;
    for (std::size_t at = 0;;) {
      at = line.find_first_not_of(kBlanks, at);
      if (at == std::string_view::npos) break;
      const std::size_t stop = std::min(line.find_first_of(kBlanks, at), line.size());
      words.push_back({line.substr(at, stop - at), number, at + 1});
      at = stop;
    }
    if (!words.empty()) rows.push_back(std::move(words));
    const std::size_t mark = text.substr(end).starts_with("\r\n") ? 2 : 1;
    text.remove_prefix(std::min(end + mark, text.size()));
  }
  return rows;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const Word& word,
                         std::string_view what) {
  throw core::UsageError(
      fmt::format("{}, line {}, column {}: {}", path.string(), word.line, word.column, what));
}

// MPFR reads more than people mean by a number: "0x1p3", "@inf@", "1@5".
bool looks_like_a_number(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  if (text == "inf" || text == "nan") return true;
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

void append(std::string& text, mpfr_srcptr x) {
  if (!mpfr_regular_p(x)) {
    if (!mpfr_nan_p(x) && mpfr_signbit(x)) text += '-';
    text += mpfr_nan_p(x) ? "nan" : mpfr_inf_p(x) ? "inf" : "0";
    return;
  }
  mpfr_exp_t exponent = 0;
  const std::unique_ptr<char, void (*)(char*)> digits(
      mpfr_get_str(nullptr, &exponent, 10, 0, x, MPFR_RNDN), mpfr_free_str);
  std::string_view left = digits.get();
  if (left[0] == '-') text += '-';
  if (left[0] == '-') left.remove_prefix(1);
  while (left.size() > 1 && left.back() == '0') left.remove_suffix(1);
  text += left[0];
  if (left.size() > 1) (text += '.') += left.substr(1);
  if (exponent != 1) text += fmt::format("e{}", exponent - 1);
}

}  // namespace

Matrix read_text(const std::filesystem::path& path, mpfr_prec_t bits) {
  const std::string text = core::read_file(path);
  const std::vector<std::vector<Word>> rows = rows_of(text);
  const std::size_t columns = rows.empty() ? 0 : rows[0].size();
  if (rows.size() > kMostRows || columns > kMostRows) {
    throw core::UsageError(
        fmt::format("{} has more than {} rows or columns", path.string(), kMostRows));
  }
  Matrix matrix(static_cast<int>(rows.size()), static_cast<int>(columns), bits);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != columns) {
      refuse(path, rows[i][std::min(rows[i].size() - 1, columns)],
             fmt::format("a row of {} numbers, but the first row has {}", rows[i].size(), columns));
    }
    for (std::size_t j = 0; j < columns; ++j) {
      const std::string word(rows[i][j].text);
      char* end = nullptr;
      mpfr_clear_flags();
      mpfr_strtofr(matrix.at(static_cast<int>(i), static_cast<int>(j)), word.c_str(), &end, 10,
                   MPFR_RNDN);
      if (mpfr_overflow_p() || mpfr_underflow_p()) {
        refuse(path, rows[i][j],
               fmt::format("\"{}\" has an exponent that no number can have", word.substr(0, 60)));
      }
      if (!looks_like_a_number(word) || end != word.c_str() + word.size()) {
        refuse(path, rows[i][j], fmt::format("\"{}\" is not a decimal number", word.substr(0, 60)));
      }
    }
  }
  return matrix;
}

std::string text_of(const Matrix& matrix) {
  std::string text;
  for (int i = 0; i < matrix.rows(); ++i) {
    for (int j = 0; j < matrix.columns(); ++j) {
      if (j > 0) text += ' ';
      append(text, matrix.at(i, j));
    }
    text += '\n';
  }
  return text;
}

}  // namespace tabane::matmul
