#include "tabane/workloads/aes_dir/secret.h"

#include <openssl/crypto.h>

namespace tabane::workloads::aes_dir {

void wipe(std::span<std::byte> bytes) noexcept { OPENSSL_cleanse(bytes.data(), bytes.size()); }

}  // namespace tabane::workloads::aes_dir
