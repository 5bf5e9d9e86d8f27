#include "tabane/workloads/wipe.h"

#include <openssl/crypto.h>

namespace tabane::workloads {

void wipe(std::span<std::byte> bytes) noexcept { OPENSSL_cleanse(bytes.data(), bytes.size()); }

}  // namespace tabane::workloads
