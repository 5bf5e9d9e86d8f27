// The product by residues.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/tools/matmul/elements.h"
#include "tabane/tools/matmul/matrix.h"
#include "tabane/tools/matmul/multiply.h"
#include "tabane/tools/matmul/plan.h"

namespace tabane::matmul {

// Returns the part-th of so many parts, whose sizes differ by at most one.
inline IndexRange share(int size, int parts, int part) {
  const auto edge = [&](int at) { return static_cast<int>(static_cast<long>(size) * at / parts); };
  return {edge(part), edge(part + 1)};
}

// The order of residues: by group of terms, part of a complex number, and prime.
class Planes {
 public:
  // Of the primes of each group those that one of so many ranks has; counts: of the primes.
  explicit Planes(const std::vector<int>& counts, int ranks = 1, int rank = 0);

  IndexRange primes(std::size_t group) const { return primes_[group]; }
  std::size_t count() const { return first_.back(); }  // of one part
  std::size_t at(std::size_t group, int parts, int part, int prime) const {
    return first_[group] * static_cast<std::size_t>(parts) +
           static_cast<std::size_t>(part * primes_[group].size() + prime - primes_[group].first);
  }

 private:
  std::vector<IndexRange> primes_;
  std::vector<std::size_t> first_{0};  // planes of one part before those of a group, and behind all
};

// Residues of some rows of the product, in ascending order.
struct ResidueBlock {
  const std::vector<int>& counts;  // of primes, by group
  int parts;
  std::span<const int> rows;
  std::size_t columns;
};

// A product on ranks that share out the primes: each multiplies the whole matrices modulo its own
// primes, and puts its own rows of the product together from the residues of all.
class PrimeSpread {
 public:
  // rows: of the whole product.
  PrimeSpread(comm::Comm& comm, int rows) : comm_(comm), rows_(rows) {}

  comm::Comm& comm() const { return comm_; }
  // The rows that a rank puts together; those of them that are in a block.
  IndexRange rows_of(int rank) const { return share(rows_, comm_.size(), rank); }
  std::span<const int> rows_of(int rank, std::span<const int> block) const;
  std::size_t most_rows() const {
    return static_cast<std::size_t>((rows_ + comm_.size() - 1) / comm_.size());
  }

  // Gets this rank's rows of a block modulo all primes, and sends the others theirs modulo its own
  // ones. All ranks call it. own: planes of all the block's rows; complete: of this rank's.
  // cost: messages of 4 parts / ranks bytes an element and prime in all.
  void exchange(const ResidueBlock& block, const std::int32_t* own, std::int32_t* complete) const;

 private:
  comm::Comm& comm_;
  int rows_;
};

// Computes the elements of the plan's rows and columns; with a spread, which all its ranks call
// with the same plan and memory, those of the rank's own rows.
// throws: core::UsageError if the memory is too small.
void multiply_by_residues(const Operands& operands, const ProductPlan& plan, const Target& target,
                          const ProductOptions& options, Cost& cost, const PrimeSpread* spread);

}  // namespace tabane::matmul
