#include "tabane/tools/linpack/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/random.h"

namespace tabane::linpack {

// Column j is the stream of random bits whose seed is a hash of the system's seed and of j.
void RandomSystem::read(int j, int first, std::span<double> out) const {
  const std::uint64_t column =
      core::random_bits(core::random_bits(seed_, 0), static_cast<unsigned>(j));
  std::uint64_t i = static_cast<unsigned>(first);
  for (double& value : out) {
    const auto bits = static_cast<std::int64_t>(core::random_bits(column, i++));
    value = static_cast<double>(bits >> 11) * 0x1p-53;
  }
}

GivenSystem::GivenSystem(int n, std::vector<double> a, std::vector<double> b)
    : System(n), a_(std::move(a)), b_(std::move(b)) {
  const auto size = static_cast<std::size_t>(n);
  TABANE_ASSERT(a_.size() == size * size && (b_.empty() || b_.size() == size));
  if (!b_.empty()) return;
  b_.resize(size);
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t i = 0; i < size; ++i) b_[i] += a_[j * size + i];
  }
}

void GivenSystem::read(int j, int first, std::span<double> out) const {
  const double* const column =
      j == n() ? b_.data()
               : a_.data() + static_cast<std::size_t>(j) * static_cast<std::size_t>(n());
  std::copy_n(column + first, out.size(), out.begin());
}

namespace {

using Words = std::vector<std::string_view>;

constexpr std::string_view kSpaces = " \t\r\f\v";

Words split(std::string_view line) {
  Words words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
    if (line.empty()) return words;
    const std::size_t end = std::min(line.find_first_of(kSpaces), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// The lines of a text that are neither blank nor comments.
class MarketLines {
 public:
  MarketLines(std::string file, std::string_view text) : file_(std::move(file)), rest_(text) {}

  std::string_view first() { return cut(); }
  // Returns the words of the next line. expected(): what it should be, for the error at the end of
  // the file.
  template <class Text>
  const Words& next(Text&& expected) {
    if (!move()) refuse(fmt::format("the file ends where {} should be", expected()));
    return words_;
  }
  // throws: if there is another line.
  void expect_end() {
    if (move()) refuse(fmt::format("\"{}\" follows the last element", shown(line_)));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw core::UsageError("{}, line {}: {}", file_, number_, what);
  }
  [[noreturn]] void refuse_line(std::string_view expected) const {
    refuse(fmt::format("\"{}\" is where {} should be", shown(line_), expected));
  }

 private:
  static std::string shown(std::string_view text) {
    return std::string(text.substr(0, 60)) + (text.size() > 60 ? " ..." : "");
  }
  std::string_view cut() {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return line_;
  }
  bool move() {
    while (!rest_.empty()) {
      words_ = split(cut());
      if (!words_.empty() && words_[0][0] != '%') return true;
    }
    return false;
  }
  std::string file_;
  std::string_view rest_, line_;
  Words words_;
  int number_ = 0;
};

template <class T>
bool parse(std::string_view word, T& number) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

struct Form {
  bool coordinate, integer, symmetric;
};

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

Form form_of(MarketLines& lines) {
  const std::string banner = in_small_letters(lines.first());
  const Words words = split(banner);
  const auto is = [&](std::size_t word, std::string_view one, std::string_view other) {
    return words[word] == one || words[word] == other;
  };
  if (words.size() != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix" ||
      !is(2, "array", "coordinate") || !is(3, "real", "integer") ||
      !is(4, "general", "symmetric")) {
    lines.refuse_line("\"%%MatrixMarket matrix array|coordinate real|integer general|symmetric\"");
  }
  return {words[2] == "coordinate", words[3] == "integer", words[4] == "symmetric"};
}

// One element. throws: if it is not a number of the form, or not finite.
double element_of(const MarketLines& lines, const Form& form, std::string_view word) {
  double value = 0;
  std::int64_t whole = 0;
  if (form.integer ? !parse(word, whole) : !parse(word, value)) {
    lines.refuse_line(form.integer ? "an integer" : "a number");
  }
  if (form.integer) value = static_cast<double>(whole);
  if (!std::isfinite(value)) lines.refuse_line("a finite number");
  return value;
}

// Fills a matrix whose size is known. count: of coordinates.
void read_elements(MarketLines& lines, const Form& form, std::int64_t count, MarketMatrix& matrix) {
  const auto at = [&](int i, int j) -> double& {
    return matrix.values[static_cast<std::size_t>(j) * static_cast<std::size_t>(matrix.rows) +
                         static_cast<std::size_t>(i)];
  };
  const auto add = [&](int i, int j, std::string_view word) {
    const double value = element_of(lines, form, word);
    at(i, j) += value;
    if (form.symmetric && i != j) at(j, i) += value;
  };
  for (int j = 0; j < matrix.columns && !form.coordinate; ++j) {
    for (int i = form.symmetric ? j : 0; i < matrix.rows; ++i) {
      const Words& words =
          lines.next([&] { return fmt::format("element ({}, {})", i + 1, j + 1); });
      if (words.size() != 1) lines.refuse_line("one number");
      add(i, j, words[0]);
    }
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const Words& words = lines.next([&] { return fmt::format("element {} of {}", k + 1, count); });
    int i = 0, j = 0;
    if (words.size() != 3 || !parse(words[0], i) || !parse(words[1], j)) {
      lines.refuse_line("\"row column value\"");
    }
    if (i < 1 || i > matrix.rows || j < 1 || j > matrix.columns) {
      lines.refuse_line(
          fmt::format("a row of 1 to {} and a column of 1 to {}", matrix.rows, matrix.columns));
    }
    if (form.symmetric && i < j) lines.refuse_line("an element on or below the diagonal");
    add(i - 1, j - 1, words[2]);
  }
}

core::Region room_for(std::size_t doubles) {
  return core::Region(std::max<std::size_t>(doubles, 1) * sizeof(double),
                      {.pages = core::PageSize::huge_if_large});
}

}  // namespace

MarketMatrix read_matrix_market(const std::filesystem::path& path,
                                const std::function<void(int rows, int columns)>& accept) {
  const std::string text = core::read_file(path);
  MarketLines lines(path.string(), text);
  const Form form = form_of(lines);
  const std::string_view expected =
      form.coordinate ? "\"rows columns elements\"" : "\"rows columns\"";
  const Words& size = lines.next([&] { return expected; });
  MarketMatrix matrix;
  std::int64_t count = 0;
  if (size.size() != (form.coordinate ? 3 : 2) || !parse(size[0], matrix.rows) ||
      !parse(size[1], matrix.columns) || (form.coordinate && !parse(size[2], count)) ||
      matrix.rows < 0 || matrix.columns < 0 || count < 0) {
    lines.refuse_line(expected);
  }
  if (form.symmetric && matrix.rows != matrix.columns) {
    lines.refuse_line("as many columns as rows, since it is symmetric,");
  }
  accept(matrix.rows, matrix.columns);
  matrix.values.resize(static_cast<std::size_t>(matrix.rows) *
                       static_cast<std::size_t>(matrix.columns));
  read_elements(lines, form, count, matrix);
  lines.expect_end();
  return matrix;
}

Layout::Layout(const comm::Grid& grid, int size, int block_size)
    : n(size),
      block(block_size),
      rows{n, block, grid.rows(), grid.my_row()},
      columns{n + 1, block, grid.columns(), grid.my_column()},
      local_rows(rows.my_count()),
      local_columns(columns.my_count()) {}

void Layout::read(const System& system, int column, std::span<double> out) const {
  for (int local = 0; local < local_rows; local += block) {
    const int count = std::min(block, local_rows - local);
    system.read(column, rows.global(local), out.subspan(local, count));
  }
}

LocalMatrix::LocalMatrix(const Layout& layout, const System& system)
    : ld_(column_stride(layout.local_rows)),
      memory_(
          room_for(static_cast<std::size_t>(ld_) * static_cast<std::size_t>(layout.local_columns))),
      values_(memory_.as<double>()) {
  for (int j = 0; j < layout.local_columns; ++j) {
    layout.read(system, layout.columns.global(j),
                {at(0, j), static_cast<std::size_t>(layout.local_rows)});
  }
}

}  // namespace tabane::linpack
