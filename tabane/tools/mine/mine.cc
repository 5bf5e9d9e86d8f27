#include "tabane/tools/mine/mine.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/team/places.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/bitmaps.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/plain_counter.h"
#include "tabane/tools/mine/ranks.h"
#include "tabane/tools/mine/server.h"
#include "tabane/tools/mine/stopwatch.h"
#include "tabane/tools/mine/tasks.h"

namespace tabane::mine {
namespace {

int threads_of(int threads) {
  const auto pus = static_cast<int>(team::known_topology().pus().size());
  return threads == team::automatic ? pus : threads;
}

struct Database {
  Bitmaps bitmaps;  // of the frequent items
  std::uint64_t least_support = 0;
};

Database read_database(const FimiFile& file, const MineRequest& request) {
  const ItemCounts counts = count_items(file);
  const std::uint64_t least = least_support(request.min_support, counts.transactions);
  return {read_bitmaps(file, counts, least), least};
}

Scheme scheme_of(const MineRequest& request, std::size_t transactions) {
  return {.most_length = request.most_length,
          .hide_slots = request.hide_slots,
          .transactions = transactions,
          .degree = request.degree,
          .allow_insecure = request.allow_insecure};
}

Outcome outcome_of(const MineRequest& request, const Database& database, SupportCounter& counter) {
  const Bitmaps& bitmaps = database.bitmaps;
  const Apriori apriori(bitmaps.items(), bitmaps.transactions(), database.least_support,
                        request.most_length);
  const auto told = [&](const Itemsets& candidates) {
    if (request.told) request.told(candidates.length(), candidates.size());
  };
  Outcome outcome{.database = request.database,
                  .transactions = bitmaps.transactions(),
                  .min_support = request.min_support,
                  .least_support = database.least_support,
                  .most_length = request.most_length,
                  .min_confidence = request.min_confidence};
  outcome.itemsets = named(mine(apriori, counter, told), bitmaps.names());
  outcome.rules = find_rules(outcome.itemsets, outcome.transactions, request.min_confidence);
  return outcome;
}

// Counts with whatever computes sums, and decrypts them.
class EncryptedCounter : public SupportCounter {
 public:
  using Sums = std::function<std::vector<bgv::Ciphertext>(const Itemsets&, Work&)>;

  // client, threads, how: must live as long as this.
  EncryptedCounter(const Client& client, Sums sums, team::Team& threads, Encryption& how)
      : client_(client), sums_(std::move(sums)), threads_(threads), how_(how) {}

  std::vector<std::uint64_t> count(const Itemsets& candidates) override {
    std::vector<std::uint64_t> supports;
    for (std::size_t begin = 0, end = 0; begin < candidates.size(); begin = end) {
      end = end_of_batch(candidates, begin, kMostCandidates);
      std::ranges::copy(count_some(some_of(candidates, begin, end)), std::back_inserter(supports));
    }
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

}  // namespace

Encryption encryption_of(const Scheme& scheme, const bgv::Parameters& parameters,
                         DatabaseShape shape) {
  return {.ring_degree = parameters.degree(),
          .blocks = shape.blocks,
          .plaintext_modulus = parameters.plaintext_modulus(),
          .log2_modulus = parameters.modulus_bits(),
          .security_bits = parameters.secure() ? 128 : 0,
          .hide_slots = scheme.hide_slots,
          .database_bytes = static_cast<std::uint64_t>(database_bytes(parameters, shape))};
}

void check(const MineRequest& request) {
  check_min_support(request.min_support);
  check_min_confidence(request.min_confidence);
  if (request.most_length < 1 || request.most_length > kLongestItemset) {
    throw core::UsageError("--max-length: give 1 to " + std::to_string(kLongestItemset));
  }
}

Outcome mine_plain(const FimiFile& file, const MineRequest& request) {
  check(request);
  Stopwatch watch;
  const Database database = read_database(file, request);
  // Without anything to copy, threads lose nothing.
  team::Team team({.processes = request.processes == team::automatic ? 1 : request.processes,
                   .threads = threads_of(request.threads)});
  PlainCounter counter(database.bitmaps, team);
  Outcome outcome = outcome_of(request, database, counter);
  outcome.seconds = watch.lap();
  return outcome;
}

Outcome mine_encrypted(const FimiFile& file, const MineRequest& request) {
  check(request);
  Stopwatch all, watch;
  const Database plain = read_database(file, request);
  const Scheme scheme = scheme_of(request, plain.bitmaps.transactions());
  watch.lap();
  const Client client = Client::with_new_keys(scheme);
  const PublicKeys keys = client.public_keys();
  const double key_seconds = watch.lap();
  team::Team threads({.processes = 1, .threads = threads_of(request.threads)});
  const EncryptedDatabase database = encrypt(client, plain.bitmaps, threads);
  Encryption how = encryption_of(scheme, client.context()->parameters(),
                                 {.items = database.items(), .blocks = database.blocks()});
  how.key_seconds = key_seconds;
  how.encrypt_seconds = watch.lap();
  const Server server(keys, database);
  team::Team team({.processes = request.processes, .threads = request.threads});
  EncryptedCounter counter(
      client,
      [&](const Itemsets& candidates, Work& work) { return server.count(candidates, team, work); },
      threads, how);
  Outcome outcome = outcome_of(request, plain, counter);
  outcome.encryption = how;
  outcome.seconds = all.lap();
  return outcome;
}

namespace {

// PUs are shared by the ranks; where they are on several hosts there are more than this says.
int threads_of_rank(const comm::Comm& comm, int threads) {
  if (threads != team::automatic) return threads;
  return std::max(1, threads_of(team::automatic) / comm.size());
}

}  // namespace

Outcome mine_on_ranks(comm::Comm& comm, const FimiFile& file, const MineRequest& request) {
  check(request);
  Stopwatch all, watch;
  const Database plain = read_database(file, request);
  const Scheme scheme = scheme_of(request, plain.bitmaps.transactions());
  watch.lap();
  const Client client = Client::with_new_keys(scheme);
  const PublicKeys keys = client.public_keys();
  const bgv::Parameters& parameters = client.context()->parameters();
  check_capacity(parameters, scheme, plain.bitmaps.transactions());
  Encryption how =
      encryption_of(scheme, parameters,
                    {.items = plain.bitmaps.items(),
                     .blocks = blocks_of(plain.bitmaps.transactions(), parameters.slots())});
  how.key_seconds = watch.lap();
  team::Team threads({.processes = 1, .threads = threads_of_rank(comm, request.threads)});
  const EncryptedDatabase own = deal_database(comm, client, keys, plain.bitmaps, threads);
  how.encrypt_seconds = watch.lap();
  how.ranks = comm.size();
  RankCounting counting(comm, keys, own, threads);
  EncryptedCounter counter(
      client,
      [&](const Itemsets& candidates, Work& work) { return counting.count(candidates, work); },
      threads, how);
  Outcome outcome = outcome_of(request, plain, counter);
  counting.end();
  outcome.encryption = how;
  outcome.seconds = all.lap();
  return outcome;
}

void help_mining(comm::Comm& comm, int threads) {
  comm.set_phase("waiting for keys");
  const PublicKeys keys = receive_keys(comm);
  comm.set_phase("receiving blocks");
  const EncryptedDatabase own = receive_database(comm, keys);
  team::Team team({.processes = 1, .threads = threads_of_rank(comm, threads)});
  RankCounting(comm, keys, own, team).serve();
}

void check_encryption(const FimiFile& file, const MineRequest& request) {
  check(request);
  const ItemCounts counts = count_items(file);
  const std::uint64_t least = least_support(request.min_support, counts.transactions);
  const bgv::Parameters parameters = choose_parameters(scheme_of(request, counts.transactions));
  const auto items = static_cast<std::size_t>(std::ranges::count_if(
      counts.items, [least](const Supported& one) { return one.support >= least; }));
  check_memory(parameters,
               {.items = items, .blocks = blocks_of(counts.transactions, parameters.slots())});
}

}  // namespace tabane::mine
