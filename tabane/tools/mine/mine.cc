#include "tabane/tools/mine/mine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/team/places.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/counting.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/plain_counter.h"
#include "tabane/tools/mine/results.h"
#include "tabane/tools/mine/server.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {
namespace {

struct Database {
  Bitmaps bitmaps;  // of the frequent items
  std::uint64_t least_support = 0;
};

Database read_database(const FimiFile& file, const MineRequest& request) {
  const ItemCounts counts = count_items(file);
  const std::uint64_t least = least_support(request.min_support, counts.transactions);
  return {read_bitmaps(file, counts, least), least};
}

KeySpec key_spec_of(const MineRequest& request, std::size_t transactions) {
  return {.most_length = request.most_length,
          .hide_slots = request.hide_slots,
          .transactions = transactions,
          .degree = request.degree,
          .allow_insecure = request.allow_insecure};
}

MineResult result_of(const MineRequest& request, const Database& database,
                     SupportCounter& counter) {
  const Bitmaps& bitmaps = database.bitmaps;
  const Apriori apriori(bitmaps.items(), bitmaps.transactions(), database.least_support,
                        request.most_length);
  const auto on_counting = [&](const Itemsets& candidates) {
    if (request.on_counting) request.on_counting(candidates.length(), candidates.size());
  };
  MineResult result{.database = request.database,
                    .transactions = bitmaps.transactions(),
                    .min_support = request.min_support,
                    .least_support = database.least_support,
                    .most_length = request.most_length,
                    .min_confidence = request.min_confidence};
  result.itemsets = named(mine(apriori, counter, on_counting), bitmaps.names());
  result.rules = find_rules(result.itemsets, result.transactions, request.min_confidence);
  return result;
}

// Counts by decrypting the sums of any server.
class EncryptedCounter : public SupportCounter {
 public:
  using Sums = std::function<std::vector<bgv::Ciphertext>(const Itemsets&, Work&)>;

  // client, threads, how: must live as long as this.
  EncryptedCounter(const Client& client, Sums sums, team::Team& threads, Encryption& how)
      : client_(client), sums_(std::move(sums)), threads_(threads), how_(how) {}

  std::vector<std::uint64_t> count(const Itemsets& candidates) override {
    std::vector<std::uint64_t> supports;
    for_batches(candidates, kMostCandidates, [&](const Itemsets& batch) {
      std::ranges::copy(count_some(batch), std::back_inserter(supports));
    });
    return supports;
  }

 private:
  // A support takes far less memory than the sum that it is decrypted from.
  std::vector<std::uint64_t> count_some(const Itemsets& candidates) {
    const std::vector<bgv::Ciphertext> sums = sums_(candidates, how_.work);
    Stopwatch watch;
    std::vector<std::uint64_t> supports = decrypt(client_, sums, threads_);
    how_.decrypt_seconds += watch.lap();
    return supports;
  }

  const Client& client_;
  Sums sums_;
  team::Team& threads_;
  Encryption& how_;
};

using ShapeMessage = std::array<std::uint64_t, 2>;  // items, blocks

// Broadcasts bytes of any number from rank 0.
team::Bytes broadcast_bytes(comm::Comm& comm, team::Bytes bytes) {
  std::uint64_t size = bytes.size();
  comm::broadcast(comm, size, 0);
  bytes.resize(size);
  if (size > 0) comm::broadcast(comm, bytes, 0);
  return bytes;
}

// Sends the keys to all ranks, and each its blocks, which are encrypted block by block. Returns
// those of rank 0.
EncryptedDatabase deal_database(comm::Comm& comm, const Client& client, const PublicKeys& keys,
                                const Bitmaps& bitmaps, team::Team& threads) {
  const std::size_t blocks = blocks_of(bitmaps.transactions(), keys.context->degree());
  broadcast_bytes(comm, bytes_of_public_keys(keys));
  ShapeMessage shape{bitmaps.items(), blocks};
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
                             {.items = bitmaps.items(), .blocks = own.size()});
  for (std::size_t block = own.begin; block < own.end; ++block) {
    encrypt_block(database, block - own.begin, block);
  }
  return database;
}

EncryptedDatabase receive_database(comm::Comm& comm, const PublicKeys& keys) {
  ShapeMessage shape{};
  comm::broadcast(comm, shape, 0);
  check_memory_of_ranks(comm, keys.context->parameters(), {.items = shape[0], .blocks = shape[1]});
  const BlockRange own = blocks_of_rank(shape[1], comm.rank(), comm.size());
  EncryptedDatabase database(keys.context, keys.id, {.items = shape[0], .blocks = own.size()});
  for (std::size_t block = 0; block < database.blocks(); ++block) {
    comm.recv(0, database.block_words(block));
  }
  return database;
}

}  // namespace

Encryption encryption_of(const KeySpec& spec, const bgv::Parameters& parameters,
                         DatabaseShape shape) {
  return {.ring_degree = parameters.degree(),
          .blocks = shape.blocks,
          .plaintext_modulus = parameters.plaintext_modulus(),
          .log2_modulus = parameters.modulus_bits(),
          .security_bits = parameters.secure() ? 128 : 0,
          .hide_slots = spec.hide_slots,
          .database_bytes = static_cast<std::uint64_t>(database_bytes(parameters, shape))};
}

void check(const MineRequest& request) {
  check_min_support(request.min_support);
  check_min_confidence(request.min_confidence);
  if (request.most_length < 1 || request.most_length > kLongestItemset) {
    throw core::UsageError("--max-length: give 1 to " + std::to_string(kLongestItemset));
  }
}

team::Team threads_only(int threads, const comm::Comm* ranks) {
  if (threads == team::automatic) {
    const auto pus = static_cast<int>(team::known_topology().pus().size());
    // Ranks on several hosts have more PUs than this one.
    threads = ranks == nullptr ? pus : std::max(1, pus / ranks->size());
  }
  return team::Team({.processes = 1, .threads = threads});
}

MineResult mine_plain(const FimiFile& file, const MineRequest& request) {
  check(request);
  Stopwatch watch;
  const Database database = read_database(file, request);
  // Nothing has to be copied, so threads are as good as processes.
  const int pus = static_cast<int>(team::known_topology().pus().size());
  team::Team team({.processes = request.processes == team::automatic ? 1 : request.processes,
                   .threads = request.threads == team::automatic ? pus : request.threads});
  PlainCounter counter(database.bitmaps, team);
  MineResult result = result_of(request, database, counter);
  result.seconds = watch.lap();
  return result;
}

MineResult mine_encrypted(const FimiFile& file, const MineRequest& request, comm::Comm* ranks) {
  check(request);
  Stopwatch all, watch;
  const Database plain = read_database(file, request);
  const std::size_t transactions = plain.bitmaps.transactions();
  const KeySpec spec = key_spec_of(request, transactions);
  watch.lap();
  const Client client = Client::with_new_keys(spec);
  const PublicKeys keys = client.public_keys();
  const bgv::Parameters& parameters = client.context()->parameters();
  check_capacity(parameters, spec, transactions);
  Encryption how = encryption_of(
      spec, parameters,
      {.items = plain.bitmaps.items(), .blocks = blocks_of(transactions, parameters.slots())});
  how.key_seconds = watch.lap();
  team::Team threads = threads_only(request.threads, ranks);
  const EncryptedDatabase database =
      ranks == nullptr ? encrypt(client, plain.bitmaps, threads)
                       : deal_database(*ranks, client, keys, plain.bitmaps, threads);
  how.encrypt_seconds = watch.lap();
  const auto mined = [&](const EncryptedCounter::Sums& sums) {
    EncryptedCounter counter(client, sums, threads, how);
    return result_of(request, plain, counter);
  };
  MineResult result;
  if (ranks == nullptr) {
    const Server server(keys, database);
    team::Team team({.processes = request.processes, .threads = request.threads});
    result = mined([&](const Itemsets& candidates, Work& work) {
      return server.count(candidates, team, work);
    });
  } else {
    how.ranks = ranks->size();
    RankCounting counting(*ranks, keys, database, threads);
    result = mined(
        [&](const Itemsets& candidates, Work& work) { return counting.count(candidates, work); });
    counting.end();
  }
  result.encryption = how;
  result.seconds = all.lap();
  return result;
}

void help_mining(comm::Comm& comm, int threads) {
  comm.set_phase("waiting for keys");
  const PublicKeys keys = public_keys_of(broadcast_bytes(comm, {}), "the keys from rank 0");
  comm.set_phase("receiving blocks");
  const EncryptedDatabase own = receive_database(comm, keys);
  team::Team team = threads_only(threads, &comm);
  RankCounting(comm, keys, own, team).serve();
}

void check_encryption(const FimiFile& file, const MineRequest& request) {
  check(request);
  const ItemCounts counts = count_items(file);
  const std::uint64_t least = least_support(request.min_support, counts.transactions);
  const bgv::Parameters parameters = choose_parameters(key_spec_of(request, counts.transactions));
  const auto items = static_cast<std::size_t>(std::ranges::count_if(
      counts.items, [least](const Supported& one) { return one.support >= least; }));
  check_memory(parameters,
               {.items = items, .blocks = blocks_of(counts.transactions, parameters.slots())});
}

}  // namespace tabane::mine
