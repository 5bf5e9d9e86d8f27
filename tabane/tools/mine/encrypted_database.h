// The encrypted database: what its keys must allow, its ciphertexts in memory, and its file.
//
// Transaction t is slot t % N of block t / N. The product of the vectors of several items is the
// vector of the transactions that hold all of them; it is summed over the blocks. The client sums
// the slots of what it decrypts, so the plaintext modulus has to exceed the number of blocks only;
// where the server sums them (hide_slots), it has to exceed the number of transactions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <tuple>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/core/memory.h"
#include "tabane/team/team.h"
#include "tabane/tools/mine/bgv/keys.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

class Client;
struct PublicKeys;

// ---- keys and what they can count ----

// What keys are made for.
struct KeySpec {
  std::uint64_t most_length = 3;   // of an itemset
  bool hide_slots = false;         // only totals are decrypted
  std::uint64_t transactions = 0;  // at most
  std::uint64_t degree = 0;        // of the ring; 0: the least that suffices
  bool allow_insecure = false;

  auto fields() { return std::tie(most_length, hide_slots, transactions, degree, allow_insecure); }
};

// Returns the depth of the products that itemsets of up to `length` items are; see counting.h.
constexpr int depth_of(std::size_t length) {
  return length <= 1 ? 0 : static_cast<int>(std::bit_width(length - 1));
}

constexpr std::size_t blocks_of(std::size_t transactions, std::size_t slots) {
  return (transactions + slots - 1) / slots;
}

// throws: core::UsageError saying what would help, if there are no such parameters.
bgv::Parameters choose_parameters(const KeySpec& spec);

// throws: core::UsageError if these parameters cannot count so many transactions, with the
// plaintext modulus that is needed, or if the noise of so many would be too large.
void check_capacity(const bgv::Parameters& parameters, const KeySpec& spec,
                    std::size_t transactions);

// ---- in memory ----

// A random number that tells databases apart.
using DatabaseId = bgv::KeyId;

struct DatabaseShape {
  std::size_t items = 0, blocks = 0;
};

// The server's copy of the database, or of some of its blocks: a ciphertext for each item in each
// block. Public material.
class EncryptedDatabase {
 public:
  // Allocates ciphertexts without values, in huge pages where the system has them, so that forks
  // are quick. throws: core::UsageError if the memory does not suffice.
  EncryptedDatabase(bgv::SharedContext context, const bgv::KeyId& key, DatabaseShape shape);

  std::size_t items() const { return shape_.items; }
  std::size_t blocks() const { return shape_.blocks; }
  const bgv::KeyId& key() const { return key_; }
  const bgv::SharedContext& context() const { return context_; }
  std::uint64_t bytes() const { return 8 * words_each_ * items() * blocks(); }

  bgv::CiphertextView at(std::size_t item, std::size_t block) const;
  // Returns all items of the first block, then of the next.
  std::vector<bgv::CiphertextView> views(std::size_t block_begin, std::size_t block_end) const;

  // Return the words of a ciphertext, in the order of bgv::CiphertextView, and those of all items
  // of a block, one after the other. Different threads may write different ones.
  std::span<std::uint64_t> words(std::size_t item, std::size_t block);
  std::span<std::uint64_t> block_words(std::size_t block);

 private:
  bgv::SharedContext context_;
  bgv::KeyId key_;
  DatabaseShape shape_;
  std::size_t words_each_;
  core::Region memory_;
};

// Returns the bytes of a database in memory.
double database_bytes(const bgv::Parameters& parameters, DatabaseShape shape);
// throws: core::UsageError if a database does not fit into so many bytes.
void check_memory(const bgv::Parameters& parameters, DatabaseShape shape,
                  double usable = comm::usable_memory());

// ---- as a file ----

// What the file says of itself. A framed file with it comes first, then a record for each item of
// the first block, of the next and so on, all of one size, so that each block can be read
// separately. A record is what is needed of a fresh ciphertext: the seed of c1, c0 as residues
// [prime][N] of 8 bytes, and the SHA-256 of both.
struct DatabaseHead {
  DatabaseId id{};
  bgv::KeyId key{};
  std::uint64_t items = 0, blocks = 0, record_bytes = 0;

  auto fields() { return std::tie(id, key, items, blocks, record_bytes); }
};

// Encrypts a database into a file, a few blocks at a time. threads: a team of one process.
// throws: as check_capacity(); core::SystemError naming the file.
DatabaseHead write_database(const std::filesystem::path& path, const Client& client,
                            const Bitmaps& bitmaps, team::Team& threads);

// throws: core::UsageError naming the file if it is no such file, is damaged, or has another length
// than it says; core::SystemError.
DatabaseHead read_database_head(const std::filesystem::path& path);

// Reads some blocks. threads: a team of one process. throws: as read_database_head();
// core::UsageError naming the file if a record is damaged or it was encrypted with other keys;
// core::UsageError if memory does not suffice.
EncryptedDatabase read_database(const std::filesystem::path& path, const PublicKeys& keys,
                                std::size_t block_begin, std::size_t block_end,
                                team::Team& threads);

}  // namespace tabane::mine
