#include "tabane/tools/matmul/residue_product.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "tabane/core/clock.h"
#include "tabane/solver/blas.h"
#include "tabane/solver/blas_memory.h"
#include "tabane/tools/matmul/blocks.h"
#include "tabane/tools/matmul/buffer.h"
#include "tabane/tools/matmul/model.h"
#include "tabane/tools/matmul/rebuild.h"
#include "tabane/tools/matmul/reduce.h"
#include "tabane/tools/matmul/residues.h"
#include "tabane/tools/matmul/threads.h"

namespace tabane::matmul {
namespace {

double now() { return core::tick_clock().now(); }

std::vector<Moduli> moduli_of(const Operands& operands, const Plan& plan) {
  std::vector<Moduli> moduli;
  for (const Piece& piece : plan.pieces) {
    moduli.push_back(make_moduli(static_cast<int>(piece.terms.index.size()), operands.parts,
                                 piece.a_width, piece.b_width));
  }
  return moduli;
}

std::vector<int> counts_of(const std::vector<Moduli>& moduli) {
  std::vector<int> counts;
  for (const Moduli& each : moduli) counts.push_back(each.count());
  return counts;
}

// A part of the block of the product whose residues are held.
struct Tile {
  std::size_t row, rows, column, columns;
  std::size_t size() const { return rows * columns; }
};

class ResidueProduct {
 public:
  ResidueProduct(const Operands& operands, const Plan& plan, const Target& target,
                 const Options& options, Cost& cost, const PrimeSpread* spread)
      : operands_(operands),
        plan_(plan),
        target_(target),
        cost_(cost),
        threads_(options.threads),
        spread_(spread),
        moduli_(moduli_of(operands, plan)),
        counts_(counts_of(moduli_)),
        all_(counts_),
        own_(spread == nullptr ? all_ : spread->planes(counts_, spread->comm().rank())),
        blocks_(choose_blocks(request(options.memory))),
        workspace_(options.workspace != nullptr ? *options.workspace : own_workspace_),
        a_values_(values_of_line() * blocks_.rows, workspace_),
        b_values_(values_of_line() * blocks_.columns, workspace_),
        residues_(own_.count() * parts() * blocks_.rows * blocks_.columns, workspace_),
        complete_(spread == nullptr ? 0
                                    : all_.count() * parts() * blocks_.columns *
                                          std::min(blocks_.rows, spread->most_rows()),
                  workspace_) {
    for (int i = 0; i < threads_; ++i) {
      workers_.push_back(std::make_unique<Worker>(*this, static_cast<std::size_t>(i)));
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
        for (std::size_t g = 0; g < moduli_.size(); ++g) multiply_piece(g);
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
  // What one thread has of its own.
  struct Worker {
    Worker(ResidueProduct& all, std::size_t thread)
        : finish(all.operands_, all.target_, thread),
          products(all.planes() * all.blocks_.tile_rows * all.blocks_.tile_columns, all.workspace_),
          values(all.moduli_.size()),
          shifts(all.moduli_.size()) {
      for (const Moduli& moduli : all.moduli_) rebuilds.emplace_back(moduli);
    }
    Finish finish;
    Buffer<double> products;
    std::vector<Rebuild> rebuilds;
    std::vector<SignedLimbs> values;
    std::vector<WideExponent> shifts;
    double product_seconds = 0, reduce_seconds = 0, rebuild_seconds = 0, operations = 0;
  };
  // The operands of one piece, for some primes.
  struct Factors {
    const Moduli& moduli;
    Residues a, b;
    int terms;
    std::size_t piece;
  };

  std::size_t parts() const { return static_cast<std::size_t>(operands_.parts); }
  std::size_t planes() const { return 2 * parts() - 1; }
  std::size_t values_of_line() const {
    std::size_t most_terms = 0;
    for (const Piece& piece : plan_.pieces) {
      most_terms = std::max(most_terms, piece.terms.index.size());
    }
    return planes() * blocks_.primes * most_terms;
  }
  std::size_t block_size() const { return block_rows_.size() * block_columns_.size(); }

  BlockRequest request(double memory) const {
    // The same on all ranks, so that they have the same blocks.
    const int ranks = spread_ == nullptr ? 1 : spread_->comm().size();
    BlockRequest request{plan_.rows.size(), plan_.columns.size(), 1, 0, 0, 0, 0, threads_, memory};
    request.product_bytes = 8.0 * static_cast<double>(planes());
    for (std::size_t g = 0; g < moduli_.size(); ++g) {
      const double primes = moduli_[g].count(), own_primes = std::ceil(primes / ranks);
      const auto terms = static_cast<double>(plan_.pieces[g].terms.index.size());
      request.primes = std::max(request.primes, static_cast<std::size_t>(own_primes));
      request.line_bytes = std::max(request.line_bytes, 8 * terms * static_cast<double>(planes()));
      request.element_bytes += 4 * own_primes * operands_.parts;
      // What is sent, and the own elements modulo all primes.
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

  void multiply_piece(std::size_t g) {
    const Piece& piece = plan_.pieces[g];
    const Moduli& moduli = moduli_[g];
    Factors factors{moduli,
                    {Residues::Side::a, operands_, piece, moduli, a_values_.data()},
                    {Residues::Side::b, operands_, piece, moduli, b_values_.data()},
                    static_cast<int>(piece.terms.index.size()),
                    g};
    const std::vector<Tile> tiles = tiles_of_block();
    const int step = static_cast<int>(blocks_.primes);
    const Range own = own_.primes(g);
    for (int first = own.first; first < own.end; first += step) {
      const Range primes{first, std::min(first + step, own.end)};
      const double begin = now();
      factors.a.fill(block_rows_, primes, threads_);
      factors.b.fill(block_columns_, primes, threads_);
      cost_.residue_seconds += threads_ * (now() - begin);
      run_tasks(threads_, tiles.size(), [&](std::size_t thread, std::size_t task) {
        for (int p = primes.first; p < primes.end; ++p) {
          multiply_tile(*workers_[thread], tiles[task], factors, p);
        }
      });
    }
  }

  void multiply_tile(Worker& worker, const Tile& tile, const Factors& factors, int prime) {
    const int step = terms_at_once(factors.terms);
    for (int at = 0; at < std::max(factors.terms, 1); at += step) {
      const double begin = now();
      for (std::size_t plane = 0; plane < planes(); ++plane) {
        multiply_plane(worker, tile, factors, prime, static_cast<int>(plane),
                       {at, std::min(at + step, factors.terms)});
      }
      const double middle = now();
      reduce_products(worker, tile, factors, prime, at > 0);
      worker.product_seconds += middle - begin;
      worker.reduce_seconds += now() - middle;
    }
  }

  static void multiply_plane(Worker& worker, const Tile& tile, const Factors& factors, int prime,
                             int plane, Range terms) {
    const auto a_stride = static_cast<std::size_t>(factors.a.stride());
    const auto b_stride = static_cast<std::size_t>(factors.b.stride());
    const auto first = static_cast<std::size_t>(terms.first);
    const double* const a = factors.a.plane(plane, prime) + tile.row * a_stride + first;
    const double* const b = factors.b.plane(plane, prime) + first * b_stride + tile.column;
    const int rows = static_cast<int>(tile.rows), columns = static_cast<int>(tile.columns);
    const auto alone = solver::alone_in_blas();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, terms.size(), 1, a,
                std::max(factors.a.stride(), 1), b, factors.b.stride(), 0,
                worker.products.data() + static_cast<std::size_t>(plane) * tile.size(), columns);
    worker.operations += 2.0 * rows * columns * terms.size();
  }

  // Row by row, or all at once if the tile's rows are the block's.
  void reduce_products(const Worker& worker, const Tile& tile, const Factors& factors, int prime,
                       bool accumulate) {
    const auto at = static_cast<std::size_t>(prime);
    const Modulus modulus{factors.moduli.primes[at], factors.moduli.inverses[at]};
    const bool whole = tile.columns == block_columns_.size();
    const std::size_t size = whole ? tile.size() : tile.columns;
    for (std::size_t done = 0; done < tile.size(); done += size) {
      const std::size_t row = tile.row + done / tile.columns;
      const std::size_t to = row * block_columns_.size() + tile.column;
      const double* const products = worker.products.data() + done;
      std::int32_t* const re = residues_of(factors.piece, 0, prime) + to;
      if (operands_.parts == 1) {
        reduce(products, re, size, modulus, accumulate);
      } else {
        reduce_complex(products, products + tile.size(), products + 2 * tile.size(), re,
                       residues_of(factors.piece, 1, prime) + to, size, modulus, accumulate);
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
      Worker& worker = *workers_[thread];
      const double begin = now();
      const std::size_t first = task * kElements;
      for (int part = 0; part < operands_.parts; ++part) {
        finish_elements(worker, complete, part, first, std::min(first + kElements, size));
      }
      worker.rebuild_seconds += now() - begin;
    });
  }

  void finish_elements(Worker& worker, const Complete& complete, int part, std::size_t first,
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

  void finish_element(Worker& worker, const Place& place, std::size_t e) const {
    for (std::size_t g = 0; g < moduli_.size(); ++g) {
      const Piece& piece = plan_.pieces[g];
      worker.values[g] = magnitude_of(worker.rebuilds[g].integer(e));
      worker.shifts[g] = static_cast<WideExponent>(piece.a[static_cast<std::size_t>(place.i)].low) +
                         piece.b[static_cast<std::size_t>(place.j)].low;
    }
    if (moduli_.size() == 1) return worker.finish.one(place, worker.values[0], worker.shifts[0]);
    worker.finish.several(place, worker.values, worker.shifts);
  }

  const Operands& operands_;
  const Plan& plan_;
  const Target& target_;
  Cost& cost_;
  int threads_;
  const PrimeSpread* spread_;
  std::vector<Moduli> moduli_;
  std::vector<int> counts_;  // of primes, by piece
  Planes all_, own_;         // of all primes; of those that this rank multiplies modulo
  Blocks blocks_;
  Workspace own_workspace_;
  Workspace& workspace_;
  Buffer<double> a_values_, b_values_;  // of the operands, for some primes
  Buffer<std::int32_t> residues_;       // of the block: by piece, part, prime and element
  Buffer<std::int32_t> complete_;       // of this rank's rows of it, modulo all primes
  std::span<const int> block_rows_, block_columns_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

void multiply_by_residues(const Operands& operands, const Plan& plan, const Target& target,
                          const Options& options, Cost& cost, const PrimeSpread* spread) {
  ResidueProduct(operands, plan, target, options, cost, spread).run();
}

}  // namespace tabane::matmul
