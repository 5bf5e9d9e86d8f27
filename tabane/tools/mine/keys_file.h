// The files of keys: the client's, which only its owner can read and which is never replaced, and
// the one that the client gives to the server.
#pragma once

#include <filesystem>

#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/server.h"

namespace tabane::mine {

// throws: core::SystemError naming the file, also (EEXIST) if it is there.
void write_secret_key(const std::filesystem::path& path, const Client& client);
// throws: core::UsageError, core::Error or core::SystemError naming the file.
Client read_secret_key(const std::filesystem::path& path);

// throw: as above.
void write_public_keys(const std::filesystem::path& path, const PublicKeys& keys);
PublicKeys read_public_keys(const std::filesystem::path& path);

// The same as one string of bytes, for messages.
team::Bytes bytes_of_public_keys(const PublicKeys& keys);
PublicKeys public_keys_of(std::span<const std::byte> bytes, const std::filesystem::path& name);

}  // namespace tabane::mine
