#include "tabane/tools/mine/steps.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/files.h"
#include "tabane/tools/mine/server.h"

namespace tabane::mine {

void check_candidates(const Itemsets& all) {
  if (all.size() == 0 || all.items().size() % all.length() != 0) {
    throw core::UsageError("the query has no candidates of one length");
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool ascends =
        std::ranges::adjacent_find(all[i], std::ranges::greater_equal{}) == all[i].end();
    if (!ascends || (i > 0 && !std::ranges::lexicographical_compare(all[i - 1], all[i]))) {
      throw core::UsageError("the query's candidates are not in their order");
    }
  }
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kSecretKey = "secret.key";
constexpr const char* kState = "state";
constexpr const char* kPublicKeys = "public.keys";
constexpr const char* kDatabase = "database";
constexpr const char* kQuery = "query";
constexpr const char* kAnswer = "answer";
constexpr mode_t kOwnerOnly = 0600;

// Writes both or none: a secret key without its public ones would only block the next call.
void write_keys(const fs::path& secret, const Client& client, const fs::path& shown,
                const PublicKeys& keys) {
  write_secret_key(secret, client);
  try {
    write_public_keys(shown, keys);
  } catch (...) {
    std::error_code ignored;
    fs::remove(secret, ignored);
    throw;
  }
}

void make_folder(const Folder& folder, mode_t mode) {
  if (::mkdir(folder.c_str(), mode) == 0) return;
  if (errno != EEXIST) throw core::SystemError("mkdir", folder.string(), errno);
  if (!fs::is_directory(folder)) {
    throw core::UsageError("{}: is not a folder", folder.string());
  }
}

fs::path resolved(const Folder& folder) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(folder, error);
  if (error) throw core::SystemError("realpath", folder.string(), error.value());
  return path;
}

// The server's folder is given away, and with it the client's if one is inside the other.
void require_apart(const Folder& client, const Folder& server) {
  const fs::path of_client = resolved(client), of_server = resolved(server);
  const auto [in_client, in_server] =
      std::mismatch(of_client.begin(), of_client.end(), of_server.begin(), of_server.end());
  if (in_client != of_client.end() && in_server != of_server.end()) return;
  throw core::UsageError(
      "{} and {}: the client's folder and the server's must not be the same, nor one "
      "inside the other: the secret key would go to the server",
      client.string(), server.string());
}

void require_absent(const fs::path& path) {
  if (!fs::exists(fs::symlink_status(path))) return;
  throw core::UsageError("{} exists, and keys are never replaced", path.string());
}

Apriori apriori_of(const ClientState& state) {
  Apriori apriori(state.items.size(), state.transactions,
                  least_support(state.min_support, state.transactions), state.most_length);
  for (const auto& supports : state.supports) {
    if (apriori.candidates().size() != supports.size()) {
      throw core::UsageError("the client's state does not fit together: it is damaged");
    }
    apriori.take(supports);
  }
  return apriori;
}

QueryReport report_of(const Itemsets& candidates, const bgv::Parameters& parameters,
                      const Work& work = {}) {
  return {candidates.length(), candidates.size(), !parameters.secure(), work};
}

// Writes the next query, or removes the last one if nothing is left to ask.
QueryReport ask(const Client& client, const Folder& server, const DatabaseId& database,
                const Apriori& apriori) {
  if (apriori.done()) {
    fs::remove(server / kQuery);
  } else {
    write_value(server / kQuery, FileKind::query, Query{database, apriori.candidates()});
  }
  return report_of(apriori.candidates(), client.context()->parameters());
}

// Returns the request with a length that the keys are made for.
MineRequest request_for(const Client& client, MineRequest request) {
  const std::size_t most = client.spec().most_length;
  if (request.keys.most_length == of_keys) request.keys.most_length = most;
  check(request);
  if (request.keys.most_length <= most) return request;
  throw core::UsageError("--max-length {}: the keys are made for itemsets of up to {} items",
                         request.keys.most_length, most);
}

Query read_query(const Folder& server, const DatabaseHead& head) {
  auto query = read_value<Query>(server / kQuery, FileKind::query);
  if (query.database != head.id) {
    throw core::UsageError("{}: asks for another database than {}", (server / kQuery).string(),
                           (server / kDatabase).string());
  }
  check_candidates(query.candidates);
  return query;
}

// While an answer is written, memory holds its sums, the content of the file and the file itself.
constexpr double kCopiesOfAnswer = 3;

// Checked early, since counting may take hours. Sums are switched to as few primes as their noise
// allows, mostly one.
void check_answer_fits(const Itemsets& candidates, const PublicKeys& keys) {
  const std::size_t components = candidates.length() == 1 || keys.spec.hide_slots ? 2 : 3;
  const double needed =
      kCopiesOfAnswer * 8.0 *
      static_cast<double>(bgv::Ciphertext::size_of(keys.context->degree(), components, 1)) *
      static_cast<double>(candidates.size());
  const double usable = comm::usable_memory();
  if (needed <= usable) return;
  throw core::UsageError(
      "the answer to {} candidates takes {} of memory, and {} are free: a larger "
      "--min-support leaves rare itemsets out",
      candidates.size(), core::format_value(needed, "B"), core::format_value(usable, "B"));
}

void check_sums(const QueryAnswer& answer, const fs::path& path, const Client& owner,
                const fs::path& key) {
  for (const bgv::Ciphertext& sum : answer.sums) {
    if (sum.key != owner.id()) {
      throw core::UsageError("{}: was made with other keys than {}", path.string(), key.string());
    }
    if (!bgv::is_valid(*owner.context(), sum)) throw_damaged(path.string());
  }
}

MineResult result_of(const ClientState& state, const Client& client, const Apriori& apriori) {
  MineResult result = result_of({.database = state.name,
                                 .min_support = state.min_support,
                                 .min_confidence = state.min_confidence,
                                 .keys = {.most_length = state.most_length}},
                                state.transactions, state.items, apriori);
  result.names = state.names;
  Encryption how = encryption_of(client.spec(), client.context()->parameters(),
                                 {.items = state.items.size(), .blocks = state.blocks});
  how.work = state.work;
  how.encrypt_seconds = state.encrypt_seconds;
  how.decrypt_seconds = state.decrypt_seconds;
  how.ranks = state.ranks;
  result.encryption = how;
  result.seconds = how.work.seconds + how.encrypt_seconds + how.decrypt_seconds;
  return result;
}

}  // namespace

Encryption make_keys(const Folder& client, const Folder& server, const KeySpec& spec) {
  Stopwatch watch;
  require_absent(client / kSecretKey);
  require_absent(server / kPublicKeys);
  const Client made = Client::with_new_keys(spec);
  const PublicKeys keys = made.public_keys();
  make_folder(client, 0700);
  make_folder(server, 0777);
  require_apart(client, server);
  write_keys(client / kSecretKey, made, server / kPublicKeys, keys);
  Encryption how = encryption_of(spec, made.context()->parameters(), {});
  how.key_seconds = watch.lap();
  return how;
}

QueryReport encrypt_database(const Folder& client, const Folder& server, const FimiFile& file,
                             const MineRequest& wanted) {
  require_apart(client, server);
  Stopwatch watch;
  const Client owner = read_secret_key(client / kSecretKey);
  const MineRequest request = request_for(owner, wanted);
  const ItemCounts counts = count_items(file);
  check_capacity(owner.context()->parameters(), owner.spec(), counts.transactions);
  const Bitmaps bitmaps =
      read_bitmaps(file, counts, least_support(*request.min_support, counts.transactions));
  team::Team threads = threads_only(request.workers.threads);
  const DatabaseHead head = write_database(server / kDatabase, owner, bitmaps, threads);
  ClientState state{.database = head.id,
                    .name = request.database,
                    .items = bitmaps.names(),
                    .names = file.item_names(),
                    .transactions = bitmaps.transactions(),
                    .most_length = request.keys.most_length,
                    .blocks = head.blocks,
                    .min_support = *request.min_support,
                    .min_confidence = request.min_confidence};
  state.encrypt_seconds = watch.lap();
  write_value(client / kState, FileKind::state, state, kOwnerOnly);
  fs::remove(server / kAnswer);
  return ask(owner, server, head.id, apriori_of(state));
}

QueryReport count_query(const Folder& server, const Workers& workers, comm::Comm* ranks) {
  const bool is_root = ranks == nullptr || ranks->rank() == 0;
  const DatabaseHead head = read_database_head(server / kDatabase);
  Query query;
  if (is_root) query = read_query(server, head);
  const PublicKeys keys = read_public_keys(server / kPublicKeys);
  BlockRange own{0, head.blocks};
  if (ranks != nullptr) {
    check_memory_of_ranks(*ranks, keys.context->parameters(),
                          {.items = head.items, .blocks = head.blocks});
    own = blocks_of_rank(head.blocks, ranks->rank(), ranks->size());
  }
  team::Team readers = threads_only(workers.threads, ranks);
  const EncryptedDatabase database =
      read_database(server / kDatabase, keys, own.begin, own.end, readers);
  const Server counter(keys, database, ranks);
  team::Team team = counting_team(workers, ranks);
  if (!is_root) {
    counter.serve(team);
    return {};
  }
  check_answer_fits(query.candidates, keys);
  QueryAnswer answer{.database = query.database, .length = query.candidates.length()};
  answer.sums = counter.count(query.candidates, team, answer.work);
  answer.ranks = ranks == nullptr ? 1 : ranks->size();
  counter.end();
  write_value(server / kAnswer, FileKind::answer, answer);
  return report_of(query.candidates, keys.context->parameters(), answer.work);
}

DecryptedAnswer decrypt_answer(const Folder& client, const Folder& server, int threads) {
  require_apart(client, server);
  Stopwatch watch;
  const Client owner = read_secret_key(client / kSecretKey);
  auto state = read_value<ClientState>(client / kState, FileKind::state);
  Apriori apriori = apriori_of(state);
  if (!apriori.done()) {
    const auto answer = read_value<QueryAnswer>(server / kAnswer, FileKind::answer);
    if (answer.database != state.database || answer.length != apriori.candidates().length() ||
        answer.sums.size() != apriori.candidates().size()) {
      ask(owner, server, state.database, apriori);  // it may have got lost
      throw core::UsageError("{}: is no answer to the last query", (server / kAnswer).string());
    }
    check_sums(answer, server / kAnswer, owner, client / kSecretKey);
    team::Team team = threads_only(threads);
    const std::vector<std::uint64_t> supports = decrypt(owner, answer.sums, team);
    apriori.take(supports);
    state.supports.push_back(supports);
    state.work += answer.work;
    state.ranks = answer.ranks;
    state.decrypt_seconds += watch.lap();
    write_value(client / kState, FileKind::state, state, kOwnerOnly);
  }
  return {.next = ask(owner, server, state.database, apriori),
          .result = result_of(state, owner, apriori)};
}

}  // namespace tabane::mine
