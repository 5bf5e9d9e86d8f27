#include "tabane/tools/mine/ranks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/tools/mine/factors.h"
#include "tabane/tools/mine/keys_file.h"
#include "tabane/tools/mine/stopwatch.h"
#include "tabane/tools/mine/tasks.h"

namespace tabane::mine {
namespace {

constexpr std::size_t kWordsOfMessage = std::size_t{1} << 20;  // 8 MiB

using Shape = std::array<std::uint64_t, 2>;  // items, blocks

// Candidates as a message; length 0 says that nothing comes any more.
Itemsets broadcast_candidates(comm::Comm& comm, const Itemsets& candidates) {
  std::array<std::uint64_t, 2> size{candidates.length(), candidates.items().size()};
  comm::broadcast(comm, size, 0);
  std::vector<Item> items(candidates.items().begin(), candidates.items().end());
  items.resize(size[1]);
  if (size[1] > 0) comm::broadcast(comm, items, 0);
  Itemsets all(size[0]);
  all.push_back(items);
  return all;
}

}  // namespace

BlockRange blocks_of_rank(std::size_t blocks, int rank, int ranks) {
  const auto all = static_cast<std::size_t>(ranks);
  const auto first = [&](int r) { return (blocks * static_cast<std::size_t>(r) + all - 1) / all; };
  return {first(rank), first(rank + 1)};
}

void check_memory_of_ranks(comm::Comm& comm, const bgv::Parameters& parameters,
                           DatabaseShape shape) {
  const double usable = comm::usable_memory_of_all(comm) / comm.size();
  if (comm.rank() != 0) return;
  const BlockRange own = blocks_of_rank(shape.blocks, 0, comm.size());
  check_memory(parameters, {.items = shape.items, .blocks = own.end - own.begin}, usable);
}

RankCounting::RankCounting(comm::Comm& comm, const PublicKeys& keys, const EncryptedDatabase& own,
                           team::Team& threads)
    : comm_(comm), keys_(keys), own_(own), threads_(threads), server_(keys, own) {}

// A rank without blocks has sums that are 0.
std::vector<bgv::Ciphertext> RankCounting::own_sums(const Itemsets& candidates, Work& work) {
  if (own_.blocks() > 0) return server_.sums(candidates, threads_, work);
  bgv::Ciphertext zero(keys_.context->degree(), 3,
                       primes_of_factors(candidates.length(), keys_.context->primes()));
  std::ranges::fill(zero.words(), 0);
  zero.key = keys_.id;
  return std::vector<bgv::Ciphertext>(candidates.size(), zero);
}

// Many sums in one message: each reduction waits for the slowest rank.
void RankCounting::add_all(std::vector<bgv::Ciphertext>& sums) {
  if (sums.empty()) return;
  const std::size_t each = sums.front().words().size();
  const std::size_t at_once = std::max<std::size_t>(kWordsOfMessage / each, 1);
  std::vector<std::uint64_t> words;
  for (std::size_t begin = 0; begin < sums.size(); begin += at_once) {
    const std::size_t end = std::min(begin + at_once, sums.size());
    words.clear();
    for (std::size_t i = begin; i < end; ++i) {
      words.insert(words.end(), sums[i].words().begin(), sums[i].words().end());
    }
    comm::reduce(comm_, words, comm::Operation::sum, 0);
    if (comm_.rank() != 0) continue;
    for (std::size_t i = begin; i < end; ++i) {
      take_reduced(sums[i], std::span(words).subspan((i - begin) * each, each));
    }
  }
}

// Residues have less than 50 bits, so the integers of 4096 ranks add up without loss, and are
// reduced once.
void RankCounting::take_reduced(bgv::Ciphertext& sum, std::span<const std::uint64_t> words) const {
  std::ranges::copy(words, sum.words().begin());
  for (std::size_t component = 0; component < sum.components(); ++component) {
    for (std::size_t prime = 0; prime < sum.primes(); ++prime) {
      const bgv::Modulus& modulus = keys_.context->modulus(prime);
      for (std::uint64_t& residue : sum.residues(component, prime)) {
        residue = modulus.reduce(residue);
      }
    }
  }
  // No rank has more blocks than rank 0.
  sum.deviation += std::log2(comm_.size());
}

std::vector<bgv::Ciphertext> RankCounting::count_some(const Itemsets& candidates, Work& work) {
  Work own, finishing;
  broadcast_candidates(comm_, candidates);
  std::vector<bgv::Ciphertext> sums = own_sums(candidates, own);
  add_all(sums);
  std::array<std::uint64_t, 2> done{own.products, own.key_switches};
  comm::reduce(comm_, done, comm::Operation::sum, 0);
  server_.finish(sums, threads_, finishing);
  own.products = done[0];
  own.key_switches = done[1] + finishing.key_switches;
  own.seconds = 0;  // count() takes the time of all ranks
  work += own;
  return sums;
}

std::vector<bgv::Ciphertext> RankCounting::count(const Itemsets& candidates, Work& work) {
  comm_.set_phase("counting candidates");
  Stopwatch watch;
  std::vector<bgv::Ciphertext> all;
  for (std::size_t begin = 0, end = 0; begin < candidates.size(); begin = end) {
    end = end_of_batch(candidates, begin, kMostCandidates);
    std::ranges::move(count_some(some_of(candidates, begin, end), work), std::back_inserter(all));
  }
  work.seconds += watch.lap();
  return all;
}

void RankCounting::end() { broadcast_candidates(comm_, Itemsets()); }

void RankCounting::serve() {
  for (;;) {
    comm_.set_phase("waiting for candidates");
    const Itemsets candidates = broadcast_candidates(comm_, {});
    if (candidates.length() == 0) return;
    comm_.set_phase("counting candidates");
    Work own;
    std::vector<bgv::Ciphertext> sums = own_sums(candidates, own);
    add_all(sums);
    std::array<std::uint64_t, 2> done{own.products, own.key_switches};
    comm::reduce(comm_, done, comm::Operation::sum, 0);
  }
}

team::Bytes broadcast_bytes(comm::Comm& comm, team::Bytes bytes) {
  std::uint64_t size = bytes.size();
  comm::broadcast(comm, size, 0);
  bytes.resize(size);
  if (size > 0) comm::broadcast(comm, bytes, 0);
  return bytes;
}

EncryptedDatabase deal_database(comm::Comm& comm, const Client& client, const PublicKeys& keys,
                                const Bitmaps& bitmaps, team::Team& threads) {
  const std::size_t blocks = blocks_of(bitmaps.transactions(), keys.context->degree());
  broadcast_bytes(comm, bytes_of_public_keys(keys));
  Shape shape{bitmaps.items(), blocks};
  comm::broadcast(comm, shape, 0);
  check_memory_of_ranks(comm, keys.context->parameters(),
                        {.items = bitmaps.items(), .blocks = blocks});
  const auto encrypt_block = [&](EncryptedDatabase& to, std::size_t place, std::size_t block) {
    threads.map<bool>(bitmaps.items(), [&](std::size_t item) {
      const bgv::Ciphertext made = client.encrypt(bitmaps, item, block);
      std::ranges::copy(made.words(), to.words(item, place).begin());
      return true;
    });
  };
  EncryptedDatabase sent(keys.context, keys.id, {.items = bitmaps.items(), .blocks = 1});
  for (int rank = 1; rank < comm.size(); ++rank) {
    const BlockRange theirs = blocks_of_rank(blocks, rank, comm.size());
    for (std::size_t block = theirs.begin; block < theirs.end; ++block) {
      encrypt_block(sent, 0, block);
      comm.send(rank, sent.block_words(0));
    }
  }
  const BlockRange own = blocks_of_rank(blocks, 0, comm.size());
  EncryptedDatabase database(keys.context, keys.id,
                             {.items = bitmaps.items(), .blocks = own.end - own.begin});
  for (std::size_t block = own.begin; block < own.end; ++block) {
    encrypt_block(database, block - own.begin, block);
  }
  return database;
}

PublicKeys receive_keys(comm::Comm& comm) {
  return public_keys_of(broadcast_bytes(comm, {}), "the keys from rank 0");
}

EncryptedDatabase receive_database(comm::Comm& comm, const PublicKeys& keys) {
  Shape shape{};
  comm::broadcast(comm, shape, 0);
  check_memory_of_ranks(comm, keys.context->parameters(), {.items = shape[0], .blocks = shape[1]});
  const BlockRange own = blocks_of_rank(shape[1], comm.rank(), comm.size());
  EncryptedDatabase database(keys.context, keys.id,
                             {.items = shape[0], .blocks = own.end - own.begin});
  for (std::size_t block = 0; block < database.blocks(); ++block) {
    comm.recv(0, database.block_words(block));
  }
  return database;
}

}  // namespace tabane::mine
