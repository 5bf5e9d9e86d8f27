// The encrypted database as a file: a container that says what is in it, then a record
// (bgv/serialise.h) for each item of the first block, of the next …, all of one size, so that each
// block can be read by itself. Each record has a checksum of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>

#include "tabane/team/team.h"
#include "tabane/tools/mine/bitmaps.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/encrypted_database.h"
#include "tabane/tools/mine/server.h"

namespace tabane::mine {

struct DatabaseHead {
  DatabaseId id{};
  bgv::KeyId key{};
  std::uint64_t items = 0, blocks = 0, record_bytes = 0;
  bool insecure = false;

  auto fields() { return std::tie(id, key, items, blocks, record_bytes, insecure); }
};

// Encrypts a database into a file, a few blocks at a time; threads: a team of one process. Returns
// what it says of itself. throws: as check_capacity(); core::SystemError naming the file.
DatabaseHead write_database(const std::filesystem::path& path, const Client& client,
                            const Bitmaps& bitmaps, team::Team& threads);

// throws: core::UsageError naming the file if it is no such file, damaged, or has not the length
// that it says; core::SystemError.
DatabaseHead read_database_head(const std::filesystem::path& path);

// Reads some blocks; threads: a team of one process. throws: as read_database_head(); core::Error
// naming the file if a record is damaged or of other parameters; core::UsageError if it was
// encrypted with other keys, or memory does not suffice.
EncryptedDatabase read_database(const std::filesystem::path& path, const PublicKeys& keys,
                                std::size_t block_begin, std::size_t block_end,
                                team::Team& threads);

}  // namespace tabane::mine
