#include "tabane/tools/matmul/residue_product.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "tabane/core/clock.h"
#include "tabane/core/memory.h"
#include "tabane/solver/blas.h"
#include "tabane/tools/matmul/residues.h"

namespace tabane::matmul {
namespace {

// Bytes of the constants of one system of primes.
double bytes_of_constants(double primes, double out_digits, double in_digits) {
  return 8 * primes * (out_digits + in_digits);
}

double now() { return core::tick_clock().now(); }

std::vector<Moduli> moduli_of(const Operands& operands, const ProductPlan& plan) {
  std::vector<Moduli> moduli;
  for (const TermGroup& group : plan.groups) {
    moduli.push_back(make_moduli(static_cast<int>(group.terms.index.size()), operands.parts,
                                 group.a_width, group.b_width));
  }
  return moduli;
}

std::vector<int> counts_of(const std::vector<Moduli>& moduli) {
  std::vector<int> counts;
  for (const Moduli& each : moduli) counts.push_back(each.count());
  return counts;
}

// An array that is written before it is read, a large one in huge pages: a gigabyte of small ones
// takes a tenth of a second to come into being.
template <class T>
class Buffer {
 public:
  // throws: core::SystemError.
  explicit Buffer(std::size_t count) {
    constexpr std::size_t kLarge = std::size_t{4} << 20;
    if (count * sizeof(T) < kLarge) {
      small_ = std::make_unique_for_overwrite<T[]>(count);
    } else {
      large_ = core::Region(count * sizeof(T), {.pages = core::PageSize::huge});
    }
  }

  T* data() const { return small_ ? small_.get() : large_.as<T>().data(); }

 private:
  std::unique_ptr<T[]> small_;
  core::Region large_;
};

// A part of the block of the product whose residues are held.
struct Tile {
  std::size_t row, rows, column, columns;
  std::size_t size() const { return rows * columns; }
};

class ResidueProduct {
 public:
  ResidueProduct(const Operands& operands, const ProductPlan& plan, const Target& target,
                 const ProductOptions& options, Cost& cost, const PrimeSpread* spread)
      : operands_(operands),
        plan_(plan),
        target_(target),
        cost_(cost),
        threads_(options.threads),
        spread_(spread),
        moduli_(moduli_of(operands, plan)),
        counts_(counts_of(moduli_)),
        all_(counts_),
        own_(spread == nullptr ? all_ : Planes(counts_, ranks(), spread->comm().rank())),
        blocks_(choose_blocks(request(options.memory))),
        a_values_(values_of_line() * blocks_.rows),
        b_values_(values_of_line() * blocks_.columns),
        residues_(own_.count() * parts() * blocks_.rows * blocks_.columns),
        complete_(spread == nullptr ? 0
                                    : all_.count() * parts() * blocks_.columns *
                                          std::min(blocks_.rows, spread->most_rows())) {
    for (int i = 0; i < threads_; ++i) {
      workers_.push_back(std::make_unique<ThreadState>(*this, i));
    }
    cost_.bytes = std::max(cost_.bytes, blocks_.bytes);
    cost_.groups = static_cast<int>(moduli_.size());
    cost_.primes = static_cast<int>(all_.count());
  }

  void run() {
    const std::span<const int> rows = plan_.rows, columns = plan_.columns;
    for (std::size_t i = 0; i < rows.size(); i += blocks_.rows) {
      block_rows_ = rows.subspan(i, std::min(blocks_.rows, rows.size() - i));
      for (std::size_t j = 0; j < columns.size(); j += blocks_.columns) {
        block_columns_ = columns.subspan(j, std::min(blocks_.columns, columns.size() - j));
        for (std::size_t g = 0; g < moduli_.size(); ++g) multiply_group(g);
        finish_block();
      }
    }
    for (const auto& worker : workers_) {
      cost_.product_seconds += worker->product_seconds;
      cost_.rebuild_seconds += worker->rebuild_seconds;
      cost_.residue_seconds += worker->reduce_seconds;
      cost_.product_operations += worker->operations;
    }
  }

 private:
  // The memory and the times of one thread.
  struct ThreadState {
    ThreadState(ResidueProduct& all, std::size_t thread)
        : writer(all.operands_, all.target_, thread),
          products(all.planes() * all.blocks_.tile_rows * all.blocks_.tile_columns),
          values(all.moduli_.size()),
          shifts(all.moduli_.size()) {
      for (const Moduli& moduli : all.moduli_) rebuilds.emplace_back(moduli);
    }
    ElementWriter writer;
    Buffer<double> products;
    std::vector<Rebuild> rebuilds;
    std::vector<SignedLimbs> values;
    std::vector<WideExponent> shifts;
    double product_seconds = 0, reduce_seconds = 0, rebuild_seconds = 0, operations = 0;
  };
  // The operands of one group, for some primes.
  struct GroupOperands {
    const Moduli& moduli;
    Residues a, b;
    int terms;
    std::size_t group;
  };

  int ranks() const { return spread_ == nullptr ? 1 : spread_->comm().size(); }
  std::size_t parts() const { return static_cast<std::size_t>(operands_.parts); }
  std::size_t planes() const { return 2 * parts() - 1; }
  std::size_t values_of_line() const {
    std::size_t most_terms = 0;
    for (const TermGroup& group : plan_.groups) {
      most_terms = std::max(most_terms, group.terms.index.size());
    }
    return planes() * blocks_.primes * most_terms;
  }
  std::size_t block_size() const { return block_rows_.size() * block_columns_.size(); }

  BlockRequest request(double memory) const {
    // The same on all ranks, so that they have the same blocks.
    BlockRequest request{plan_.rows.size(), plan_.columns.size(), 1, 0, 0, 0, 0, threads_, memory};
    request.product_bytes = 8.0 * static_cast<double>(planes());
    for (std::size_t g = 0; g < moduli_.size(); ++g) {
      const double primes = moduli_[g].count(), own_primes = std::ceil(primes / ranks());
      const auto terms = static_cast<double>(plan_.groups[g].terms.index.size());
      request.primes = std::max(request.primes, static_cast<std::size_t>(own_primes));
      request.line_bytes = std::max(request.line_bytes, 8 * terms * static_cast<double>(planes()));
      request.element_bytes += 4 * own_primes * operands_.parts;
      // What is sent, and this rank's elements modulo all primes.
      if (spread_ != nullptr) request.element_bytes += 8 * own_primes * operands_.parts;
      request.constant_bytes += bytes_of_constants(primes, moduli_[g].out_digits,
                                                   moduli_[g].a_digits + moduli_[g].b_digits);
    }
    return request;
  }

  std::vector<Tile> tiles_of_block() const {
    const std::size_t rows = block_rows_.size(), columns = block_columns_.size();
    std::vector<Tile> tiles;
    for (std::size_t i = 0; i < rows; i += blocks_.tile_rows) {
      for (std::size_t j = 0; j < columns; j += blocks_.tile_columns) {
        tiles.push_back({i, std::min(blocks_.tile_rows, rows - i), j,
                         std::min(blocks_.tile_columns, columns - j)});
      }
    }
    return tiles;
  }

  std::int32_t* residues_of(std::size_t g, int part, int prime) {
    return residues_.data() + own_.at(g, operands_.parts, part, prime) * block_size();
  }

  void multiply_group(std::size_t g) {
    const TermGroup& group = plan_.groups[g];
    const Moduli& moduli = moduli_[g];
    GroupOperands operands{moduli,
                           {Factor::a, operands_, group, moduli, a_values_.data()},
                           {Factor::b, operands_, group, moduli, b_values_.data()},
                           static_cast<int>(group.terms.index.size()),
                           g};
    const std::vector<Tile> tiles = tiles_of_block();
    const int step = static_cast<int>(blocks_.primes);
    const IndexRange own = own_.primes(g);
    for (int first = own.first; first < own.end; first += step) {
      const IndexRange primes{first, std::min(first + step, own.end)};
      const double begin = now();
      operands.a.fill(block_rows_, primes, threads_);
      operands.b.fill(block_columns_, primes, threads_);
      cost_.residue_seconds += threads_ * (now() - begin);
      run_tasks(threads_, tiles.size(), [&](std::size_t thread, std::size_t task) {
        for (int p = primes.first; p < primes.end; ++p) {
          multiply_tile(*workers_[thread], tiles[task], operands, p);
        }
      });
    }
  }

  void multiply_tile(ThreadState& worker, const Tile& tile, const GroupOperands& operands,
                     int prime) {
    const int step = terms_at_once(operands.terms);
    for (int at = 0; at < std::max(operands.terms, 1); at += step) {
      const double begin = now();
      for (std::size_t plane = 0; plane < planes(); ++plane) {
        multiply_plane(worker, tile, operands, prime, static_cast<int>(plane),
                       {at, std::min(at + step, operands.terms)});
      }
      const double middle = now();
      reduce_products(worker, tile, operands, prime, at > 0);
      worker.product_seconds += middle - begin;
      worker.reduce_seconds += now() - middle;
    }
  }

  static void multiply_plane(ThreadState& worker, const Tile& tile, const GroupOperands& operands,
                             int prime, int plane, IndexRange terms) {
    const auto a_stride = static_cast<std::size_t>(operands.a.stride());
    const auto b_stride = static_cast<std::size_t>(operands.b.stride());
    const auto first = static_cast<std::size_t>(terms.first);
    const double* const a = operands.a.plane(plane, prime) + tile.row * a_stride + first;
    const double* const b = operands.b.plane(plane, prime) + first * b_stride + tile.column;
    const int rows = static_cast<int>(tile.rows), columns = static_cast<int>(tile.columns);
    const auto alone = solver::alone_in_blas();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, terms.size(), 1, a,
                std::max(operands.a.stride(), 1), b, operands.b.stride(), 0,
                worker.products.data() + static_cast<std::size_t>(plane) * tile.size(), columns);
    worker.operations += 2.0 * rows * columns * terms.size();
  }

  // Row by row, or all at once if the tile's rows are the block's.
  void reduce_products(const ThreadState& worker, const Tile& tile, const GroupOperands& operands,
                       int prime, bool accumulate) {
    const auto at = static_cast<std::size_t>(prime);
    const Modulus modulus{operands.moduli.primes[at], operands.moduli.inverses[at]};
    const bool whole = tile.columns == block_columns_.size();
    const std::size_t size = whole ? tile.size() : tile.columns;
    for (std::size_t done = 0; done < tile.size(); done += size) {
      const std::size_t row = tile.row + done / tile.columns;
      const std::size_t to = row * block_columns_.size() + tile.column;
      const double* const products = worker.products.data() + done;
      std::int32_t* const re = residues_of(operands.group, 0, prime) + to;
      if (operands_.parts == 1) {
        reduce(products, re, size, modulus, accumulate);
      } else {
        reduce_complex(products, products + tile.size(), products + 2 * tile.size(), re,
                       residues_of(operands.group, 1, prime) + to, size, modulus, accumulate);
      }
    }
  }

  // Elements whose residues modulo all primes are here.
  struct Complete {
    const std::int32_t* residues;
    std::span<const int> rows;
  };

  void finish_block() {
    if (spread_ == nullptr) return finish({residues_.data(), block_rows_});
    spread_->exchange({counts_, operands_.parts, block_rows_, block_columns_.size()},
                      residues_.data(), complete_.data());
    finish({complete_.data(), spread_->rows_of(spread_->comm().rank(), block_rows_)});
  }

  void finish(const Complete& complete) {
    constexpr std::size_t kElements = 2048;  // of a task
    const std::size_t size = complete.rows.size() * block_columns_.size();
    const std::size_t tasks = (size + kElements - 1) / kElements;
    run_tasks(threads_, tasks, [&](std::size_t thread, std::size_t task) {
      ThreadState& worker = *workers_[thread];
      const double begin = now();
      const std::size_t first = task * kElements;
      for (int part = 0; part < operands_.parts; ++part) {
        finish_elements(worker, complete, part, first, std::min(first + kElements, size));
      }
      worker.rebuild_seconds += now() - begin;
    });
  }

  void finish_elements(ThreadState& worker, const Complete& complete, int part, std::size_t first,
                       std::size_t end) {
    const std::size_t columns = block_columns_.size(), size = complete.rows.size() * columns;
    std::size_t block = end - first;
    for (const Rebuild& rebuild : worker.rebuilds) block = std::min(block, rebuild.block());
    for (std::size_t at = first; at < end; at += block) {
      const std::size_t count = std::min(block, end - at);
      for (std::size_t g = 0; g < moduli_.size(); ++g) {
        worker.rebuilds[g].compute(
            complete.residues + all_.at(g, operands_.parts, part, 0) * size + at, size, count);
      }
      for (std::size_t e = 0; e < count; ++e) {
        finish_element(
            worker, {complete.rows[(at + e) / columns], block_columns_[(at + e) % columns], part},
            e);
      }
    }
  }

  void finish_element(ThreadState& worker, const ElementIndex& at, std::size_t e) const {
    for (std::size_t g = 0; g < moduli_.size(); ++g) {
      const TermGroup& group = plan_.groups[g];
      worker.values[g] = magnitude_of(worker.rebuilds[g].integer(e));
      worker.shifts[g] = static_cast<WideExponent>(group.a[at.i].low) + group.b[at.j].low;
    }
    if (moduli_.size() == 1) return worker.writer.write(at, worker.values[0], worker.shifts[0]);
    worker.writer.write_sum(at, worker.values, worker.shifts);
  }

  const Operands& operands_;
  const ProductPlan& plan_;
  const Target& target_;
  Cost& cost_;
  int threads_;
  const PrimeSpread* spread_;
  std::vector<Moduli> moduli_;
  std::vector<int> counts_;  // of primes, by group
  Planes all_, own_;         // of all primes; of those that this rank multiplies modulo
  Blocks blocks_;
  Buffer<double> a_values_, b_values_;  // of the operands, for some primes
  Buffer<std::int32_t> residues_;       // of the block: by group, part, prime and element
  Buffer<std::int32_t> complete_;       // of this rank's rows of it, modulo all primes
  std::span<const int> block_rows_, block_columns_;
  std::vector<std::unique_ptr<ThreadState>> workers_;
};

}  // namespace

Planes::Planes(const std::vector<int>& counts, int ranks, int rank) {
  for (const int count : counts) {
    primes_.push_back(share(count, ranks, rank));
    first_.push_back(first_.back() + static_cast<std::size_t>(primes_.back().size()));
  }
}

std::span<const int> PrimeSpread::rows_of(int rank, std::span<const int> block) const {
  const IndexRange rows = rows_of(rank);
  const auto first = std::ranges::lower_bound(block, rows.first);
  return {first, std::lower_bound(first, block.end(), rows.end)};
}

void PrimeSpread::exchange(const ResidueBlock& block, const std::int32_t* own,
                           std::int32_t* complete) const {
  const int self = comm_.rank(), ranks = comm_.size();
  const Planes here(block.counts, ranks, self), all(block.counts);
  // Copies a rank's rows of one part of a group.
  const auto copy_rows = [&](std::span<const int> rows, std::size_t group, int part,
                             std::int32_t* out) {
    const std::size_t first =
        static_cast<std::size_t>(rows.data() - block.rows.data()) * block.columns;
    const std::size_t size = rows.size() * block.columns;
    const IndexRange primes = here.primes(group);
    for (int prime = primes.first; prime < primes.end; ++prime, out += size) {
      const std::size_t plane = here.at(group, block.parts, part, prime);
      std::copy_n(own + plane * block.rows.size() * block.columns + first, size, out);
    }
  };
  const std::span<const int> own_rows = rows_of(self, block.rows);
  const std::size_t size = own_rows.size() * block.columns;
  std::vector<std::int32_t> sent;
  for (int step = 0; step < ranks; ++step) {
    const int to = (self + step) % ranks, from = (self - step + ranks) % ranks;
    const std::span<const int> rows = rows_of(to, block.rows);
    const Planes of_sender(block.counts, ranks, from);
    for (std::size_t group = 0; group < block.counts.size(); ++group) {
      const IndexRange primes = of_sender.primes(group);
      for (int part = 0; part < block.parts; ++part) {
        std::int32_t* const place =
            complete + all.at(group, block.parts, part, primes.first) * size;
        if (step == 0) {
          copy_rows(own_rows, group, part, place);
          continue;
        }
        sent.resize(static_cast<std::size_t>(here.primes(group).size()) * rows.size() *
                    block.columns);
        copy_rows(rows, group, part, sent.data());
        comm_.exchange(to, sent, from,
                       std::span(place, static_cast<std::size_t>(primes.size()) * size));
      }
    }
  }
}

void multiply_by_residues(const Operands& operands, const ProductPlan& plan, const Target& target,
                          const ProductOptions& options, Cost& cost, const PrimeSpread* spread) {
  ResidueProduct(operands, plan, target, options, cost, spread).run();
}

}  // namespace tabane::matmul
