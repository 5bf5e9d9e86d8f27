// Requests for the tests and benchmarks of this folder.
#pragma once

#include <cstddef>
#include <filesystem>

#include "tabane/tools/encrypt/request.h"

namespace tabane::encrypt {

// With a key that is always the same; passphrases cost little.
inline Request request_of(Direction direction, const std::filesystem::path& in,
                          const std::filesystem::path& out, Cipher cipher = Cipher::aes_256_gcm) {
  Request request;
  request.direction = direction;
  request.cipher = cipher;
  request.in = in;
  request.out = out;
  for (std::size_t i = 0; i < kMasterKeyBytes; ++i) request.key.bytes()[i] = std::byte(i * 7 + 1);
  request.passphrase_log2_n = 10;
  return request;
}

}  // namespace tabane::encrypt
