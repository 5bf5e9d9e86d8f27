#include "tabane/crypto/random.h"

#include <openssl/rand.h>

#include "tabane/crypto/openssl.h"

namespace tabane::crypto {

void fill_random(std::span<std::byte> bytes) {
  require(RAND_priv_bytes(out(bytes), static_cast<int>(bytes.size())) == 1, "random numbers");
}

}  // namespace tabane::crypto
