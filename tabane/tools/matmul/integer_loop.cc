#include "tabane/tools/matmul/integer_loop.h"

#include <algorithm>

#include "tabane/tools/matmul/integers.h"

namespace tabane::matmul {
namespace {

std::size_t limbs_for(std::int64_t width) {
  return static_cast<std::size_t>(
      std::max<std::int64_t>(1, (width + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS));
}

}  // namespace

IntegerLoop::IntegerLoop(const Operands& operands, const Plan& plan)
    : rows_(plan.rows.size()), columns_(plan.columns.size()), parts_(operands.parts) {
  const Piece& piece = plan.pieces[0];
  std::vector<mp_limb_t> integer;
  const auto read = [&](Lines& lines, bool a, std::int64_t width, const std::vector<int>& numbers) {
    lines.limbs = limbs_for(width);
    lines.terms = piece.terms.index.size();
    integer.resize(lines.limbs + 1);
    const std::size_t count = static_cast<std::size_t>(parts_) * numbers.size() * lines.terms;
    lines.magnitudes.reserve(count * lines.limbs);
    lines.signs.reserve(count);
    for (int part = 0; part < parts_; ++part) {
      const View& matrix = (a ? operands.a : operands.b)[static_cast<std::size_t>(part)];
      for (const int number : numbers) {
        const std::int64_t low = (a ? piece.a : piece.b)[static_cast<std::size_t>(number)].low;
        for (std::size_t t = 0; t < lines.terms; ++t) {
          const int k = piece.terms.index[t];
          const std::int64_t shift = piece.terms.shift[t];
          const mpfr_srcptr x = a ? matrix.at(number, k) : matrix.at(k, number);
          to_integer(x, a ? low - shift : low + shift, integer);
          lines.magnitudes.insert(lines.magnitudes.end(), integer.begin(), integer.end() - 1);
          lines.signs.push_back(mpfr_zero_p(x) ? 0 : mpfr_signbit(x) != 0 ? -1 : 1);
        }
      }
    }
  };
  read(a_, true, piece.a_width, plan.rows);
  read(b_, false, piece.b_width, plan.columns);
}

void IntegerLoop::add_part(const mp_limb_t* x, const signed char* x_signs, const mp_limb_t* y,
                           const signed char* y_signs, bool negate, std::span<mp_limb_t> sum,
                           std::span<mp_limb_t> product) const {
  const auto x_limbs = static_cast<mp_size_t>(a_.limbs), y_limbs = static_cast<mp_size_t>(b_.limbs);
  const mp_size_t limbs = x_limbs + y_limbs;
  for (std::size_t t = 0; t < a_.terms; ++t, x += x_limbs, y += y_limbs) {
    const int sign = (negate ? -1 : 1) * x_signs[t] * y_signs[t];
    if (sign == 0) continue;
    if (x_limbs == y_limbs) {
      mpn_mul_n(product.data(), x, y, x_limbs);
    } else if (x_limbs > y_limbs) {
      mpn_mul(product.data(), x, x_limbs, y, y_limbs);
    } else {
      mpn_mul(product.data(), y, y_limbs, x, x_limbs);
    }
    mp_limb_t& top = sum[static_cast<std::size_t>(limbs)];
    if (sign > 0) {
      top += mpn_add_n(sum.data(), sum.data(), product.data(), limbs);
    } else {
      top -= mpn_sub_n(sum.data(), sum.data(), product.data(), limbs);
    }
  }
}

std::span<mp_limb_t> IntegerLoop::compute(std::size_t r, std::size_t c, int part,
                                          std::vector<mp_limb_t>& into) const {
  const std::size_t limbs = a_.limbs + b_.limbs;
  into.assign(2 * limbs + 1, 0);
  const std::span<mp_limb_t> sum = std::span(into).first(limbs + 1);
  for (int p = 0; p < parts_; ++p) {
    const int q = part == 0 ? p : parts_ - 1 - p;  // as Operands pairs them
    const std::size_t row = (static_cast<std::size_t>(p) * rows_ + r) * a_.terms;
    const std::size_t column = (static_cast<std::size_t>(q) * columns_ + c) * b_.terms;
    if (a_.terms == 0) continue;
    add_part(&a_.magnitudes[row * a_.limbs], &a_.signs[row], &b_.magnitudes[column * b_.limbs],
             &b_.signs[column], p == 1 && part == 0, sum, std::span(into).subspan(limbs + 1));
  }
  return sum;
}

}  // namespace tabane::matmul
