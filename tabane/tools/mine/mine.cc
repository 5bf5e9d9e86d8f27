#include "tabane/tools/mine/mine.h"

#include <algorithm>
#include <iterator>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/counting.h"
#include "tabane/tools/mine/files.h"
#include "tabane/tools/mine/plain_counter.h"
#include "tabane/tools/mine/server.h"

namespace tabane::mine {
namespace {

KeySpec spec_for(const MineRequest& request, std::size_t transactions) {
  KeySpec spec = request.keys;
  spec.transactions = transactions;
  return spec;
}

// The frequent items of a file.
struct Database {
  Bitmaps bitmaps;
  std::uint64_t least_support = 0;
  ItemNames names;

  Database(const FimiFile& file, const MineRequest& request) : names(file.item_names()) {
    const ItemCounts counts = count_items(file);
    least_support = mine::least_support(*request.min_support, counts.transactions);
    bitmaps = read_bitmaps(file, counts, least_support);
  }
  MineResult mined(const MineRequest& request, const CountSupports& count) const {
    const Apriori apriori(bitmaps.items(), bitmaps.transactions(), least_support,
                          request.keys.most_length);
    const auto reported = [&](const Itemsets& candidates) {
      if (request.on_counting) request.on_counting(candidates.length(), candidates.size());
      return count(candidates);
    };
    MineResult result =
        result_of(request, bitmaps.transactions(), bitmaps.names(), mine(apriori, reported));
    result.names = names;
    return result;
  }
};

// Broadcasts the shape from rank 0, and returns memory for this rank's blocks.
EncryptedDatabase own_database(comm::Comm& comm, const PublicKeys& keys, DatabaseShape shape) {
  comm::broadcast(comm, shape, 0);
  check_memory_of_ranks(comm, keys.context->parameters(), shape);
  const BlockRange own = blocks_of_rank(shape.blocks, comm.rank(), comm.size());
  return {keys.context, keys.id, {.items = shape.items, .blocks = own.size()}};
}

// Sends the keys to all ranks, and each its blocks, which are encrypted block by block. Returns
// those of rank 0.
EncryptedDatabase deal_database(comm::Comm& comm, const Client& client, const PublicKeys& keys,
                                const Bitmaps& bitmaps, team::Team& threads) {
  const std::size_t blocks = blocks_of(bitmaps.transactions(), keys.context->degree());
  broadcast_bytes(comm, bytes_of(keys));
  EncryptedDatabase own = own_database(comm, keys, {.items = bitmaps.items(), .blocks = blocks});
  EncryptedDatabase sent(keys.context, keys.id, {.items = bitmaps.items(), .blocks = 1});
  for (int rank = 1; rank < comm.size(); ++rank) {
    const BlockRange theirs = blocks_of_rank(blocks, rank, comm.size());
    for (std::size_t block = theirs.begin; block < theirs.end; ++block) {
      encrypt_blocks(client, bitmaps, block, sent, threads);
      comm.send(rank, sent.block_words(0));
    }
  }
  encrypt_blocks(client, bitmaps, blocks_of_rank(blocks, 0, comm.size()).begin, own, threads);
  return own;
}

}  // namespace

void check(const MineRequest& request) {
  if (!request.min_support) {
    throw core::UsageError(
        "--min-support is missing: 0.02 asks for itemsets in 2 % of the transactions");
  }
  check_min_support(*request.min_support);
  check_min_confidence(request.min_confidence);
  if (request.keys.most_length < 1 || request.keys.most_length > kLongestItemset) {
    throw core::UsageError("--max-length: give 1 to " + std::to_string(kLongestItemset));
  }
}

// Ranks on several hosts have more PUs than this one.
team::Team threads_only(int threads, const comm::Comm* ranks) {
  if (threads == team::automatic) {
    threads = ranks == nullptr ? pus() : std::max(1, pus() / ranks->size());
  }
  return team::Team({.processes = 1, .threads = threads});
}

team::Team counting_team(const Workers& workers, const comm::Comm* ranks) {
  if (ranks != nullptr) return threads_only(workers.threads, ranks);
  return team::Team({.processes = workers.processes, .threads = workers.threads});
}

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

MineResult result_of(const MineRequest& request, std::size_t transactions,
                     const std::vector<Item>& items, const Apriori& apriori) {
  MineResult result{.database = request.database,
                    .transactions = transactions,
                    .min_support = *request.min_support,
                    .least_support = apriori.least_support(),
                    .most_length = request.keys.most_length,
                    .min_confidence = request.min_confidence};
  result.itemsets = named(apriori.frequent(), items);
  result.rules = find_rules(result.itemsets, transactions, request.min_confidence);
  return result;
}

MineResult mine_plain(const FimiFile& file, const MineRequest& request) {
  check(request);
  Stopwatch watch;
  const Database database(file, request);
  // Nothing has to be copied, so threads are as good as processes.
  const auto [processes, threads] = request.workers;
  team::Team team({.processes = processes == team::automatic ? 1 : processes,
                   .threads = threads == team::automatic ? pus() : threads});
  MineResult result = database.mined(request, [&](const Itemsets& candidates) {
    return count_plain(database.bitmaps, candidates, team);
  });
  result.seconds = watch.lap();
  return result;
}

MineResult mine_encrypted(const FimiFile& file, const MineRequest& request, comm::Comm* ranks) {
  check(request);
  Stopwatch all, watch;
  const Database plain(file, request);
  const std::size_t transactions = plain.bitmaps.transactions();
  const KeySpec spec = spec_for(request, transactions);
  watch.lap();
  const Client client = Client::with_new_keys(spec);
  const PublicKeys keys = client.public_keys();
  const bgv::Parameters& parameters = client.context()->parameters();
  check_capacity(parameters, spec, transactions);
  Encryption how = encryption_of(
      spec, parameters,
      {.items = plain.bitmaps.items(), .blocks = blocks_of(transactions, parameters.slots())});
  how.ranks = ranks == nullptr ? 1 : ranks->size();
  how.key_seconds = watch.lap();
  team::Team threads = threads_only(request.workers.threads, ranks);
  const EncryptedDatabase database =
      ranks == nullptr ? encrypt(client, plain.bitmaps, threads)
                       : deal_database(*ranks, client, keys, plain.bitmaps, threads);
  how.encrypt_seconds = watch.lap();
  const Server server(keys, database, ranks);
  team::Team team = counting_team(request.workers, ranks);
  // In batches: a support takes far less memory than the sum that it is decrypted from.
  MineResult result = plain.mined(request, [&](const Itemsets& candidates) {
    std::vector<std::uint64_t> supports;
    for_batches(candidates, kMostCandidates, [&](const Itemsets& batch) {
      const std::vector<bgv::Ciphertext> sums = server.count(batch, team, how.work);
      watch.lap();
      std::ranges::copy(decrypt(client, sums, threads), std::back_inserter(supports));
      how.decrypt_seconds += watch.lap();
    });
    return supports;
  });
  server.end();
  result.encryption = how;
  result.seconds = all.lap();
  return result;
}

void help_mining(comm::Comm& comm, int threads) {
  comm.set_phase("waiting for keys");
  const PublicKeys keys = public_keys_of(broadcast_bytes(comm, {}), "the keys from rank 0");
  comm.set_phase("receiving blocks");
  EncryptedDatabase own = own_database(comm, keys, {});
  for (std::size_t block = 0; block < own.blocks(); ++block) comm.recv(0, own.block_words(block));
  team::Team team = threads_only(threads, &comm);
  Server(keys, own, &comm).serve(team);
}

void check_encryption(const FimiFile& file, const MineRequest& request) {
  check(request);
  const ItemCounts counts = count_items(file);
  const std::uint64_t least = least_support(*request.min_support, counts.transactions);
  const bgv::Parameters parameters = choose_parameters(spec_for(request, counts.transactions));
  const auto items = static_cast<std::size_t>(std::ranges::count_if(
      counts.items, [least](const Supported& one) { return one.support >= least; }));
  check_memory(parameters,
               {.items = items, .blocks = blocks_of(counts.transactions, parameters.slots())});
}

}  // namespace tabane::mine
