// The client: owns the keys and the transactions. It encrypts the database for the server, and
// decrypts what the server has counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tabane/team/team.h"
#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/context.h"
#include "tabane/tools/mine/bgv/keys.h"
#include "tabane/tools/mine/bitmaps.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/scheme.h"
#include "tabane/tools/mine/server.h"

namespace tabane::mine {

class Client {
 public:
  // Makes new keys. throws: core::UsageError as choose_parameters().
  static Client with_new_keys(const Scheme& scheme);
  Client(const Scheme& scheme, bgv::SecretKey key);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) = delete;

  const Scheme& scheme() const { return scheme_; }
  const bgv::SharedContext& context() const;
  const bgv::SecretKey& secret_key() const;
  const bgv::KeyId& id() const { return secret_key().id(); }

  // Made anew by each call.
  PublicKeys public_keys() const;

  // An item's vector in a block: slot s is 1 if transaction block * N + s holds the item. Safe in
  // threads.
  bgv::Ciphertext encrypt(const Bitmaps& bitmaps, std::size_t item, std::size_t block) const;

  // Returns how many transactions a sum counts. Safe in threads. throws: core::UsageError if it was
  // made with other keys; core::Error if its noise is too large, or if slots that were to be summed
  // differ.
  std::uint64_t support(const bgv::CiphertextView& sum) const;

 private:
  struct Roles;
  Scheme scheme_;
  std::unique_ptr<const Roles> roles_;
};

// Encrypts a whole database into memory; threads: a team of one process.
// throws: core::UsageError as EncryptedDatabase(), and as check_capacity().
EncryptedDatabase encrypt(const Client& client, const Bitmaps& bitmaps, team::Team& threads);

// threads: a team of one process. throws: as Client::support().
std::vector<std::uint64_t> decrypt(const Client& client, std::span<const bgv::Ciphertext> sums,
                                   team::Team& threads);

}  // namespace tabane::mine
