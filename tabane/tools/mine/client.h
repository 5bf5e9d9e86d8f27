// The client: owns the keys and the transactions. It encrypts the database for the server, and
// decrypts what the server has counted. Its keys are files of two kinds: the secret one, which only
// its owner can read and which is never replaced, and the one for the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "tabane/team/team.h"
#include "tabane/tools/mine/bgv/encryption.h"
#include "tabane/tools/mine/bgv/keys.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/server.h"
#include "tabane/tools/mine/transactions.h"

namespace tabane::mine {

class Client {
 public:
  // Makes new keys. throws: core::UsageError as choose_parameters().
  static Client with_new_keys(const KeySpec& spec);
  Client(const KeySpec& spec, bgv::SecretKey key)
      : spec_(spec), key_(std::move(key)), encoder_(key_.context()) {}

  const KeySpec& spec() const { return spec_; }
  const bgv::SharedContext& context() const { return key_.context(); }
  const bgv::SecretKey& secret_key() const { return key_; }
  const bgv::KeyId& id() const { return key_.id(); }

  // Makes new ones in each call.
  PublicKeys public_keys() const;

  // Encrypts an item's vector in a block: slot s is 1 if transaction block * N + s holds the item.
  // Safe in threads.
  bgv::Ciphertext encrypt(const Bitmaps& bitmaps, std::size_t item, std::size_t block) const;

  // Returns how many transactions a sum counts. Safe in threads. throws: core::UsageError if it was
  // made with other keys; core::Error if its noise is too large, or if slots that the server was to
  // sum differ.
  std::uint64_t support(const bgv::CiphertextView& sum) const;

 private:
  KeySpec spec_;
  bgv::SecretKey key_;
  bgv::Encoder encoder_;
};

// Encrypts the blocks of `to`, of which the first is block `first` of the bitmaps; threads: a team
// of one process.
void encrypt_blocks(const Client& client, const Bitmaps& bitmaps, std::size_t first,
                    EncryptedDatabase& to, team::Team& threads);
// Encrypts a whole database into memory. throws: core::UsageError as EncryptedDatabase() and
// check_capacity().
EncryptedDatabase encrypt(const Client& client, const Bitmaps& bitmaps, team::Team& threads);

// threads: a team of one process. throws: as Client::support().
std::vector<std::uint64_t> decrypt(const Client& client, std::span<const bgv::Ciphertext> sums,
                                   team::Team& threads);

// throws: core::SystemError naming the file, also (EEXIST) if it is there.
void write_secret_key(const std::filesystem::path& path, const Client& client);
// throws: core::UsageError, core::Error or core::SystemError naming the file.
Client read_secret_key(const std::filesystem::path& path);

// throw: as above.
void write_public_keys(const std::filesystem::path& path, const PublicKeys& keys);
PublicKeys read_public_keys(const std::filesystem::path& path);

// The same from a message, which has bytes_of(keys).
PublicKeys public_keys_of(std::span<const std::byte> bytes, const std::filesystem::path& name);

}  // namespace tabane::mine
