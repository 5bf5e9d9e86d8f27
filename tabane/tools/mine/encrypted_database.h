// The server's copy of the database, or of some of its blocks: a ciphertext for each item in each
// block. Public material.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/context.h"

namespace tabane::mine {

// Random, tells databases apart.
using DatabaseId = bgv::KeyId;

struct DatabaseShape {
  std::size_t items = 0, blocks = 0;
};

class EncryptedDatabase {
 public:
  // Takes memory for ciphertexts that have no values yet, in huge pages where the system has them,
  // so that forks are quick. throws: core::UsageError if the memory does not suffice.
  EncryptedDatabase(bgv::SharedContext context, const bgv::KeyId& key, DatabaseShape shape);

  std::size_t items() const { return shape_.items; }
  std::size_t blocks() const { return shape_.blocks; }
  const bgv::KeyId& key() const { return key_; }
  const bgv::SharedContext& context() const { return context_; }
  std::uint64_t bytes() const { return 8 * words_each_ * items() * blocks(); }

  bgv::CiphertextView at(std::size_t item, std::size_t block) const;
  // Of some blocks: all items of the first, then of the next.
  std::vector<bgv::CiphertextView> views(std::size_t block_begin, std::size_t block_end) const;

  // The words of a ciphertext, in the order of bgv::CiphertextView; of all items of a block, one
  // after the other. Different ones may be written by different threads.
  std::span<std::uint64_t> words(std::size_t item, std::size_t block);
  std::span<std::uint64_t> block_words(std::size_t block);

 private:
  bgv::SharedContext context_;
  bgv::KeyId key_;
  DatabaseShape shape_;
  std::size_t words_each_;
  core::Region memory_;
};

// Bytes of a database in memory.
double database_bytes(const bgv::Parameters& parameters, DatabaseShape shape);
// throw: core::UsageError if a database does not fit into the bytes that may be taken; into the
// memory that is free.
void check_memory(const bgv::Parameters& parameters, DatabaseShape shape, double usable);
void check_memory(const bgv::Parameters& parameters, DatabaseShape shape);

}  // namespace tabane::mine
