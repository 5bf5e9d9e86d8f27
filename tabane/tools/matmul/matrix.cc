#include "tabane/tools/matmul/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/random.h"

namespace tabane::matmul {

void require_shape(int rows, int columns) {
  if (rows >= 0 && columns >= 0 && rows <= kMostRows && columns <= kMostRows) return;
  throw core::UsageError("a matrix has 0 to {} rows and columns, not {} x {}", kMostRows, rows,
                         columns);
}

void require_bits(mpfr_prec_t bits) {
  if (bits >= kLeastBits && bits <= kMostBits) return;
  throw core::UsageError("the precision must be {} to {} bits, not {}", kLeastBits, kMostBits,
                         bits);
}

void require_product(const Matrix& a, const Matrix& b) {
  if (a.columns() == b.rows()) return;
  throw core::UsageError(
      "a {} x {} matrix cannot be multiplied by a {} x {} one: as many rows as the "
      "first one has columns are needed",
      a.rows(), a.columns(), b.rows(), b.columns());
}

Matrix random_matrix(int rows, int columns, mpfr_prec_t bits, unsigned factor, std::uint64_t seed) {
  Matrix matrix(rows, columns, bits);
  mpfr_t root;
  mpfr_init2(root, bits);
  mpfr_sqrt_ui(root, factor, MPFR_RNDN);
  const std::uint64_t stream = core::random_bits(seed, factor);
  std::uint64_t index = 0;
  std::vector<mp_limb_t> digits((static_cast<std::size_t>(bits) + GMP_NUMB_BITS - 1) /
                                GMP_NUMB_BITS);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      for (mp_limb_t& limb : digits) limb = core::random_bits(stream, index++);
      digits.back() >>= static_cast<mpfr_prec_t>(digits.size()) * GMP_NUMB_BITS - bits;
      mpz_t whole;
      mpz_roinit_n(whole, digits.data(), static_cast<mp_size_t>(digits.size()));
      mpfr_set_z_2exp(matrix.at(i, j), whole, -bits, MPFR_RNDN);  // exact
      mpfr_mul(matrix.at(i, j), matrix.at(i, j), root, MPFR_RNDN);
    }
  }
  mpfr_clear(root);
  return matrix;
}

static_assert(sizeof(mp_limb_t) == sizeof(std::uint64_t) && GMP_NAIL_BITS == 0);

Matrix::Matrix(int rows, int columns, mpfr_prec_t bits)
    : rows_(rows), columns_(columns), bits_(bits) {
  require_shape(rows, columns);
  require_bits(bits);
  limbs_each_ = (static_cast<std::size_t>(bits) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS;
  const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  limbs_.resize(count * limbs_each_);
  heads_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    mpfr_custom_init_set(&heads_[i], MPFR_ZERO_KIND, 0, bits, &limbs_[i * limbs_each_]);
  }
}

Matrix::Matrix(const Matrix& other) : Matrix(other.part({0, other.rows_}, {0, other.columns_})) {}

Matrix& Matrix::operator=(const Matrix& other) {
  if (this != &other) *this = Matrix(other);
  return *this;
}

bool same(mpfr_srcptr x, mpfr_srcptr y) {
  if (mpfr_nan_p(x) || mpfr_nan_p(y)) return mpfr_nan_p(x) && mpfr_nan_p(y);
  return mpfr_equal_p(x, y) && mpfr_signbit(x) == mpfr_signbit(y);
}

bool Matrix::operator==(const Matrix& other) const {
  if (rows_ != other.rows_ || columns_ != other.columns_ || bits_ != other.bits_) return false;
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    if (!same(&heads_[i], &other.heads_[i])) return false;
  }
  return true;
}

Matrix Matrix::part(IndexRange rows, IndexRange columns) const {
  Matrix part(rows.size(), columns.size(), bits_);
  part.unpack({0, rows.size()}, {0, columns.size()}, pack(rows, columns));
  return part;
}

std::vector<std::uint64_t> Matrix::pack(IndexRange rows, IndexRange columns) const {
  std::vector<std::uint64_t> words;
  words.reserve(static_cast<std::size_t>(rows.size()) * static_cast<std::size_t>(columns.size()) *
                (limbs_each_ + 2));
  for (int i = rows.first; i < rows.end; ++i) {
    for (int j = columns.first; j < columns.end; ++j) {
      const mpfr_srcptr x = at(i, j);
      words.push_back(static_cast<std::uint64_t>(x->_mpfr_exp));
      words.push_back(static_cast<std::uint64_t>(x->_mpfr_sign));
      words.insert(words.end(), x->_mpfr_d, x->_mpfr_d + limbs_each_);
    }
  }
  return words;
}

void Matrix::unpack(IndexRange rows, IndexRange columns, std::span<const std::uint64_t> words) {
  TABANE_ASSERT(words.size() == static_cast<std::size_t>(rows.size()) *
                                    static_cast<std::size_t>(columns.size()) * (limbs_each_ + 2));
  const std::uint64_t* next = words.data();
  for (int i = rows.first; i < rows.end; ++i) {
    for (int j = columns.first; j < columns.end; ++j) {
      const mpfr_ptr x = at(i, j);
      x->_mpfr_exp = static_cast<mpfr_exp_t>(*next++);
      x->_mpfr_sign = static_cast<mpfr_sign_t>(*next++);
      for (std::size_t limb = 0; limb < limbs_each_; ++limb) x->_mpfr_d[limb] = *next++;
    }
  }
}

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
  throw core::UsageError("{}, line {}, column {}: {}", path.string(), word.line, word.column, what);
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
    throw core::UsageError("{} has more than {} rows or columns", path.string(), kMostRows);
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
