#include "tabane/tools/slalom/lower_part.h"

#include "tabane/solver/blas.h"

namespace tabane::slalom {
namespace {

constexpr int kStripColumns = 1024;

// Columns that lie a multiple of 4 KiB apart would compete for the same places of the caches.
std::size_t padded(int rows) {
  const std::size_t ld = (static_cast<std::size_t>(rows) + 7) / 8 * 8;
  return ld % 512 == 0 ? ld + 8 : ld;
}

std::size_t end_of(const std::vector<LowerPart::Strip>& strips, const BlockCyclic& columns) {
  if (strips.empty()) return 0;
  const LowerPart::Strip& last = strips.back();
  return last.offset + last.ld * static_cast<std::size_t>(columns.my_count() - last.column);
}

}  // namespace

struct LowerPart::Product {
  int after, inner;
  double factor;
  const double* left;
  std::size_t ld_left;
  const double* right;
  std::size_t ld_right;
};

std::vector<LowerPart::Strip> LowerPart::strips_of(const BlockCyclic& rows,
                                                   const BlockCyclic& columns) {
  std::vector<Strip> strips;
  const int blocks_a_strip = std::max(1, kStripColumns / columns.block);
  std::size_t offset = 0;
  for (int first = 0; first < columns.my_blocks(); first += blocks_a_strip) {
    Strip strip{.first = first, .offset = offset};
    strip.blocks = std::min(blocks_a_strip, columns.my_blocks() - first);
    strip.row = rows.indices_before(columns.my_block(first));
    strip.rows = rows.my_count() - strip.row;
    strip.column = columns.indices_before(columns.my_block(first));
    strip.ld = padded(strip.rows);
    strips.push_back(strip);
    const int end = columns.indices_before(columns.my_block(first + strip.blocks));
    offset += strip.ld * static_cast<std::size_t>(end - strip.column);
  }
  return strips;
}

std::size_t LowerPart::bytes(const BlockCyclic& rows, const BlockCyclic& columns) {
  return end_of(strips_of(rows, columns), columns) * sizeof(double);
}

LowerPart::LowerPart(const BlockCyclic& rows, const BlockCyclic& columns)
    : rows_(rows),
      columns_(columns),
      strips_(strips_of(rows, columns)),
      size_(end_of(strips_, columns)),
      region_((size_ + 1) * sizeof(double)) {}

const LowerPart::Strip& LowerPart::strip_of(int j) const {
  const int strip = columns_.blocks_before(j) / std::max(1, kStripColumns / columns_.block);
  return strips_[static_cast<std::size_t>(strip)];
}

double* LowerPart::at(int i, int j) const {
  const Strip& strip = strip_of(j);
  const auto row = static_cast<std::size_t>(rows_.indices_before(i) - strip.row);
  const auto column = static_cast<std::size_t>(columns_.indices_before(j) - strip.column);
  return numbers() + strip.offset + column * strip.ld + row;
}

// The rectangle below the diagonal of the last column block, then the two halves of what is above
// it: all products are large but those of the blocks on the diagonal.
void LowerPart::add_wedge(const Product& product, const Strip& strip, int first, int last,
                          int row_end) {
  const int row = std::min(rows_.indices_before(columns_.my_block(last - 1)), row_end);
  const int column = columns_.indices_before(columns_.my_block(first));
  const int columns = columns_.indices_before(columns_.my_block(last)) - column;
  if (row < row_end && columns > 0) {
    double* const to = numbers() + strip.offset +
                       static_cast<std::size_t>(column - strip.column) * strip.ld +
                       static_cast<std::size_t>(row - strip.row);
    const int left = row - rows_.indices_before(product.after + 1);
    const int right = column - columns_.indices_before(product.after + 1);
    solver::add_product(CblasNoTrans, CblasTrans, row_end - row, columns, product.inner,
                        product.factor, product.left + left, static_cast<int>(product.ld_left),
                        product.right + right, static_cast<int>(product.ld_right), to,
                        static_cast<int>(strip.ld));
  }
  if (last - first < 2) return;
  const int middle = (first + last) / 2;
  add_wedge(product, strip, first, middle, row);
  add_wedge(product, strip, middle, last, row);
}

void LowerPart::add_product(int after, double factor, int inner, const double* left,
                            std::size_t ld_left, const double* right, std::size_t ld_right) {
  const Product product{after, inner, factor, left, ld_left, right, ld_right};
  for (const Strip& strip : strips_) {
    const int first = std::max(strip.first, columns_.blocks_before(after + 1));
    const int last = strip.first + strip.blocks;
    if (first < last) add_wedge(product, strip, first, last, strip.row + strip.rows);
  }
}

}  // namespace tabane::slalom
