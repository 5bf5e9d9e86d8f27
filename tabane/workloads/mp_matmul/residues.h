// Operands as residues: for each prime a plane of doubles.
#pragma once

#include <span>

#include "tabane/workloads/mp_matmul/buffer.h"
#include "tabane/workloads/mp_matmul/moduli.h"
#include "tabane/workloads/mp_matmul/plan.h"

namespace tabane::workloads::mp_matmul {

// A residue of each number of some lines of an operand, prime by prime; of complex operands also
// those of the sums of both parts, which the third product needs.
class Residues {
 public:
  enum class Side { a, b };

  // For at most so many lines. side a: lines of a stand one behind the other; b: terms of b.
  Residues(Side side, const Operands& operands, const Piece& piece, const Moduli& moduli,
           std::size_t most_lines);

  // Of the lines `numbers`, which must live as long as the residues are used.
  void fill(std::span<const int> numbers, int threads);

  // plane: 0, or 1 for the imaginary part and 2 for the sum.
  const double* plane(int plane, int prime) const {
    return values_.data() +
           (static_cast<std::size_t>(plane) * static_cast<std::size_t>(moduli_.count()) +
            static_cast<std::size_t>(prime)) *
               plane_size_;
  }
  // Elements from one line of a, or term of b, to the next one.
  int stride() const { return static_cast<int>(side_ == Side::a ? terms() : numbers_.size()); }

 private:
  struct Scratch;
  std::size_t terms() const { return piece_.terms.index.size(); }
  double* plane(int plane, int prime) {
    return const_cast<double*>(static_cast<const Residues*>(this)->plane(plane, prime));
  }
  void fill_block(int part, std::size_t first, std::size_t count, Scratch& scratch);
  void read_digits(int part, std::size_t first, std::size_t count, Scratch& scratch) const;
  void add_parts(std::size_t first, std::size_t count);

  Side side_;
  const Operands& operands_;
  const Piece& piece_;
  const Moduli& moduli_;
  std::size_t digits_, most_lines_, plane_size_ = 0;
  std::span<const int> numbers_;
  Buffer<double> values_;
};

}  // namespace tabane::workloads::mp_matmul
