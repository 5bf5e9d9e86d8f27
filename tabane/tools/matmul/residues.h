// Operands as residues: for each prime a plane of doubles.
#pragma once

#include <span>

#include "tabane/tools/matmul/moduli.h"
#include "tabane/tools/matmul/plan.h"
#include "tabane/tools/matmul/reduce.h"

namespace tabane::matmul {

// A residue of each number of some lines of an operand, prime by prime; of complex operands also
// those of the sums of both parts, which the third product needs.
class Residues {
 public:
  enum class Side { a, b };

  // values: room for `planes` x primes x terms x lines numbers of what is filled in.
  Residues(Side side, const Operands& operands, const Piece& piece, const Moduli& moduli,
           double* values);

  // Of the lines `numbers`, which must live as long as the residues are used, for some primes. side
  // a: lines of a stand one behind the other; b: terms of b.
  void fill(std::span<const int> numbers, Range primes, int threads);

  // plane: 0, or 1 for the imaginary part and 2 for the sum. prime: one of those filled in.
  double* plane(int plane, int prime) const {
    return values_ +
           static_cast<std::size_t>(plane * primes_.size() + prime - primes_.first) * plane_size_;
  }
  // Elements from one line of a, or term of b, to the next one.
  int stride() const { return static_cast<int>(side_ == Side::a ? terms() : numbers_.size()); }

 private:
  struct Scratch;
  std::size_t terms() const { return piece_.terms.index.size(); }
  const View& side(int part) const {
    return (side_ == Side::a ? operands_.a : operands_.b)[static_cast<std::size_t>(part)];
  }
  Modulus modulus(int prime) const {
    const auto at = static_cast<std::size_t>(prime);
    return {moduli_.primes[at], moduli_.inverses[at]};
  }
  void fill_block(int part, std::size_t first, std::size_t count, Scratch& scratch);
  void read_digits(int part, std::size_t first, std::size_t count, Scratch& scratch) const;
  void add_parts(std::size_t first, std::size_t count);

  Side side_;
  const Operands& operands_;
  const Piece& piece_;
  const Moduli& moduli_;
  std::size_t digits_, plane_size_ = 0;
  Range primes_;
  std::span<const int> numbers_;
  double* values_;
};

}  // namespace tabane::matmul
