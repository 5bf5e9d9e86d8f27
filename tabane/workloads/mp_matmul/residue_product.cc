#include "tabane/workloads/mp_matmul/residue_product.h"

#include <algorithm>
#include <memory>

#include "tabane/core/clock.h"
#include "tabane/workloads/blas.h"
#include "tabane/workloads/mp_matmul/blocks.h"
#include "tabane/workloads/mp_matmul/model.h"
#include "tabane/workloads/mp_matmul/rebuild.h"
#include "tabane/workloads/mp_matmul/reduce.h"
#include "tabane/workloads/mp_matmul/residues.h"
#include "tabane/workloads/mp_matmul/threads.h"

namespace tabane::workloads::mp_matmul {
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

// A part of the block of rows and columns that is held as residues.
struct Tile {
  std::size_t row, rows, column, columns;
  std::size_t size() const { return rows * columns; }
};

class ResidueProduct {
 public:
  ResidueProduct(const Operands& operands, const Plan& plan, const Target& target,
                 const Options& options, Cost& cost)
      : operands_(operands),
        plan_(plan),
        target_(target),
        cost_(cost),
        threads_(options.threads),
        moduli_(moduli_of(operands, plan)),
        blocks_(choose_blocks(request(options.memory))) {
    for (std::size_t g = 0; g < moduli_.size(); ++g) {
      const auto make = [&](Residues::Side side, std::size_t lines) {
        return Residues(side, operands_, plan_.pieces[g], moduli_[g], lines);
      };
      a_.push_back(make(Residues::Side::a, std::min(blocks_.rows, plan_.rows.size())));
      b_.push_back(make(Residues::Side::b, std::min(blocks_.columns, plan_.columns.size())));
    }
    cost_.bytes = std::max(cost_.bytes, blocks_.bytes);
    cost_.groups = static_cast<int>(moduli_.size());
    for (const Moduli& moduli : moduli_) cost_.primes += moduli.count();
  }

  void run() {
    for (int i = 0; i < threads_; ++i) {
      workers_.push_back(std::make_unique<Worker>(*this, static_cast<std::size_t>(i)));
    }
    const std::span<const int> rows = plan_.rows, columns = plan_.columns;
    for (std::size_t j = 0; j < columns.size(); j += blocks_.columns) {
      fill(b_, columns.subspan(j, std::min(blocks_.columns, columns.size() - j)));
      for (std::size_t i = 0; i < rows.size(); i += blocks_.rows) {
        if (j == 0 || blocks_.rows < rows.size()) {
          fill(a_, rows.subspan(i, std::min(blocks_.rows, rows.size() - i)));
        }
        multiply_block(i, j);
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
          values(all.moduli_.size()),
          shifts(all.moduli_.size()) {
      const std::size_t tile = all.blocks_.tile_rows * all.blocks_.tile_columns;
      const auto parts = static_cast<std::size_t>(all.operands_.parts);
      products = Buffer<double>((2 * parts - 1) * tile);
      std::size_t primes = 0;
      for (const Moduli& moduli : all.moduli_) {
        offsets.push_back(primes * parts * tile);
        primes += static_cast<std::size_t>(moduli.count());
        rebuilds.emplace_back(moduli);
      }
      residues = Buffer<std::int32_t>(primes * parts * tile);
    }
    Finish finish;
    Buffer<double> products;
    Buffer<std::int32_t> residues;     // by piece, part, prime and element
    std::vector<std::size_t> offsets;  // of the pieces
    std::vector<Rebuild> rebuilds;
    std::vector<SignedLimbs> values;
    std::vector<WideExponent> shifts;
    double product_seconds = 0, reduce_seconds = 0, rebuild_seconds = 0, operations = 0;
  };

  BlockRequest request(double memory) const {
    BlockRequest request{plan_.rows.size(), plan_.columns.size(), 0, 0, 0, threads_, memory};
    const double planes = 2 * operands_.parts - 1;
    request.element_bytes = 8 * planes;
    for (std::size_t g = 0; g < moduli_.size(); ++g) {
      const double primes = moduli_[g].count();
      const auto terms = static_cast<double>(plan_.pieces[g].terms.index.size());
      request.line_bytes += bytes_of_line(terms, primes, operands_.parts);
      request.element_bytes += 4 * primes * operands_.parts;
      request.constant_bytes += bytes_of_constants(primes, moduli_[g].out_digits,
                                                   moduli_[g].a_digits + moduli_[g].b_digits);
    }
    return request;
  }

  void fill(std::vector<Residues>& residues, std::span<const int> numbers) {
    const double begin = now();
    for (Residues& each : residues) each.fill(numbers, threads_);
    cost_.residue_seconds += threads_ * (now() - begin);
  }

  void multiply_block(std::size_t first_row, std::size_t first_column) {
    const std::size_t rows = std::min(blocks_.rows, plan_.rows.size() - first_row);
    const std::size_t columns = std::min(blocks_.columns, plan_.columns.size() - first_column);
    std::vector<Tile> tiles;
    for (std::size_t i = 0; i < rows; i += blocks_.tile_rows) {
      for (std::size_t j = 0; j < columns; j += blocks_.tile_columns) {
        tiles.push_back({i, std::min(blocks_.tile_rows, rows - i), j,
                         std::min(blocks_.tile_columns, columns - j)});
      }
    }
    run_tasks(threads_, tiles.size(), [&](std::size_t thread, std::size_t task) {
      Worker& worker = *workers_[thread];
      for (std::size_t g = 0; g < moduli_.size(); ++g) multiply_piece(worker, tiles[task], g);
      const double begin = now();
      finish_tile(worker, tiles[task], first_row, first_column);
      worker.rebuild_seconds += now() - begin;
    });
  }

  std::int32_t* residues_of(Worker& worker, const Tile& tile, std::size_t g, int part,
                            int prime) const {
    const auto primes = static_cast<std::size_t>(moduli_[g].count());
    return worker.residues.data() + worker.offsets[g] +
           (static_cast<std::size_t>(part) * primes + static_cast<std::size_t>(prime)) *
               tile.size();
  }

  void multiply_piece(Worker& worker, const Tile& tile, std::size_t g) const {
    const int terms = static_cast<int>(plan_.pieces[g].terms.index.size());
    const int step = terms_at_once(terms), planes = 2 * operands_.parts - 1;
    const Moduli& moduli = moduli_[g];
    for (int p = 0; p < moduli.count(); ++p) {
      const Modulus modulus{moduli.primes[static_cast<std::size_t>(p)],
                            moduli.inverses[static_cast<std::size_t>(p)]};
      for (int at = 0; at < terms; at += step) {
        const double begin = now();
        for (int plane = 0; plane < planes; ++plane) {
          multiply_plane(worker, tile, g, p, plane, {at, std::min(at + step, terms)});
        }
        const double middle = now();
        reduce_products(worker, tile, g, p, modulus, at > 0);
        worker.product_seconds += middle - begin;
        worker.reduce_seconds += now() - middle;
      }
      if (terms == 0) clear(worker, tile, g, p);
    }
  }

  void multiply_plane(Worker& worker, const Tile& tile, std::size_t g, int prime, int plane,
                      Range terms) const {
    const int a_stride = a_[g].stride(), b_stride = b_[g].stride();
    const double* const a =
        a_[g].plane(plane, prime) + tile.row * static_cast<std::size_t>(a_stride) + terms.first;
    const double* const b =
        b_[g].plane(plane, prime) +
        static_cast<std::size_t>(terms.first) * static_cast<std::size_t>(b_stride) + tile.column;
    const int rows = static_cast<int>(tile.rows), columns = static_cast<int>(tile.columns);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, terms.size(), 1, a,
                a_stride, b, b_stride, 0,
                worker.products.data() + static_cast<std::size_t>(plane) * tile.size(), columns);
    worker.operations += 2.0 * rows * columns * terms.size();
  }

  void reduce_products(Worker& worker, const Tile& tile, std::size_t g, int prime,
                       const Modulus& modulus, bool accumulate) const {
    const double* const products = worker.products.data();
    std::int32_t* const first = residues_of(worker, tile, g, 0, prime);
    if (operands_.parts == 1) return reduce(products, first, tile.size(), modulus, accumulate);
    reduce_complex(products, products + tile.size(), products + 2 * tile.size(), first,
                   residues_of(worker, tile, g, 1, prime), tile.size(), modulus, accumulate);
  }

  void clear(Worker& worker, const Tile& tile, std::size_t g, int prime) const {
    for (int part = 0; part < operands_.parts; ++part) {
      std::fill_n(residues_of(worker, tile, g, part, prime), tile.size(), 0);
    }
  }

  void finish_tile(Worker& worker, const Tile& tile, std::size_t first_row,
                   std::size_t first_column) const {
    std::size_t block = tile.size();
    for (const Rebuild& rebuild : worker.rebuilds) block = std::min(block, rebuild.block());
    for (int part = 0; part < operands_.parts; ++part) {
      for (std::size_t at = 0; at < tile.size(); at += block) {
        const std::size_t count = std::min(block, tile.size() - at);
        for (std::size_t g = 0; g < moduli_.size(); ++g) {
          worker.rebuilds[g].compute(residues_of(worker, tile, g, part, 0) + at, tile.size(),
                                     count);
        }
        for (std::size_t e = 0; e < count; ++e) {
          const Place place{plan_.rows[first_row + tile.row + (at + e) / tile.columns],
                            plan_.columns[first_column + tile.column + (at + e) % tile.columns],
                            part};
          finish_element(worker, place, e);
        }
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
  std::vector<Moduli> moduli_;
  Blocks blocks_;
  std::vector<Residues> a_, b_;  // by piece
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

void multiply_by_residues(const Operands& operands, const Plan& plan, const Target& target,
                          const Options& options, Cost& cost) {
  ResidueProduct(operands, plan, target, options, cost).run();
}

}  // namespace tabane::workloads::mp_matmul
