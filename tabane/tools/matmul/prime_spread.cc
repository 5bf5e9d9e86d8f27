#include "tabane/tools/matmul/prime_spread.h"

#include <algorithm>
#include <utility>

namespace tabane::matmul {
namespace {

std::vector<Range> all_primes(const std::vector<int>& counts) {
  std::vector<Range> all;
  for (const int count : counts) all.push_back({0, count});
  return all;
}

}  // namespace

Planes::Planes(std::vector<Range> primes) : primes_(std::move(primes)) {
  for (const Range& each : primes_) {
    first_.push_back(first_.back() + static_cast<std::size_t>(each.size()));
  }
}

Planes::Planes(const std::vector<int>& counts) : Planes(all_primes(counts)) {}

std::span<const int> PrimeSpread::rows_of(int rank, std::span<const int> block) const {
  const Range rows = rows_of(rank);
  const auto first = std::lower_bound(block.begin(), block.end(), rows.first);
  return {first, std::lower_bound(first, block.end(), rows.end)};
}

Planes PrimeSpread::planes(const std::vector<int>& counts, int rank) const {
  std::vector<Range> primes;
  for (const int count : counts) primes.push_back(share(count, comm_.size(), rank));
  return Planes(std::move(primes));
}

void PrimeSpread::exchange(const ResidueBlock& block, const std::int32_t* own,
                           std::int32_t* complete) const {
  const int self = comm_.rank(), ranks = comm_.size();
  const Planes here = planes(block.counts, self), all(block.counts);
  // Copies a rank's rows of one part of a piece.
  const auto copy_rows = [&](std::span<const int> rows, std::size_t piece, int part,
                             std::int32_t* out) {
    const std::size_t first =
        static_cast<std::size_t>(rows.data() - block.rows.data()) * block.columns;
    const std::size_t size = rows.size() * block.columns;
    const Range primes = here.primes(piece);
    for (int prime = primes.first; prime < primes.end; ++prime, out += size) {
      const std::size_t plane = here.at(piece, block.parts, part, prime);
      std::copy_n(own + plane * block.rows.size() * block.columns + first, size, out);
    }
  };
  const std::span<const int> own_rows = rows_of(self, block.rows);
  const std::size_t size = own_rows.size() * block.columns;
  std::vector<std::int32_t> sent;
  for (int step = 0; step < ranks; ++step) {
    const int to = (self + step) % ranks, from = (self - step + ranks) % ranks;
    const std::span<const int> rows = rows_of(to, block.rows);
    const Planes of_sender = planes(block.counts, from);
    for (std::size_t piece = 0; piece < block.counts.size(); ++piece) {
      const Range primes = of_sender.primes(piece);
      for (int part = 0; part < block.parts; ++part) {
        std::int32_t* const place =
            complete + all.at(piece, block.parts, part, primes.first) * size;
        if (step == 0) {
          copy_rows(own_rows, piece, part, place);
          continue;
        }
        sent.resize(static_cast<std::size_t>(here.primes(piece).size()) * rows.size() *
                    block.columns);
        copy_rows(rows, piece, part, sent.data());
        comm_.exchange(to, sent, from,
                       std::span(place, static_cast<std::size_t>(primes.size()) * size));
      }
    }
  }
}

}  // namespace tabane::matmul
