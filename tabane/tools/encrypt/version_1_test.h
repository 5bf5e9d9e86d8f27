// Sealed files of version 1, which is only read now, for tests.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "tabane/crypto/chunk_cipher.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/bytes_test.h"

namespace tabane::encrypt {

// header: of version 1; gets a salt.
inline std::string seal_version_1(std::string_view plain, Header header, const MasterKey& master) {
  crypto::fill_random(header.file_salt);
  const FileKeys keys = derive_file_keys(header, master);
  const auto head = encode_header(header, keys);
  Bytes file(head.begin(), head.end());
  crypto::ChunkCipher cipher(crypto::Engine::openssl);
  cipher.set_key(keys.key.bytes());
  std::size_t done = 0;
  for (std::uint32_t index = 0; index == 0 || done < plain.size(); ++index) {
    const std::size_t here = std::min(header.chunk_bytes(), plain.size() - done);
    const bool last = done + here == plain.size();
    const Bytes sealed = seal_chunk(cipher, index, last, from_text(plain.substr(done, here)));
    file.insert(file.end(), sealed.begin(), sealed.end());
    done += here;
  }
  return as_text(file);
}

}  // namespace tabane::encrypt
