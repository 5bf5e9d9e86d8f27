#include "tabane/crypto/scrypt.h"

#include <fmt/format.h>

#include "tabane/core/error.h"
#include "tabane/crypto/openssl.h"
#include "tabane/crypto/random.h"

namespace tabane::crypto {
namespace {

constexpr std::uint64_t kMostMemory = std::uint64_t{4} << 30;  // what a header may ask for

}  // namespace

bool is_legal(const ScryptParameters& s) {
  return s.log2_n >= 10 && s.log2_n <= 22 && s.r >= 1 && s.r <= 32 && s.p >= 1 && s.p <= 16 &&
         s.log2_n < 16 * s.r;  // RFC 7914: N < 2^(16 r)
}

ScryptParameters fresh_scrypt_parameters(int log2_n) {
  ScryptParameters parameters{
      .log2_n = static_cast<std::uint8_t>(log2_n), .r = 8, .p = 1, .salt = {}};
  fill_random(parameters.salt);
  return parameters;
}

LockedBytes<32> scrypt_key(std::span<const std::byte> passphrase,
                           const ScryptParameters& parameters) {
  if (!is_legal(parameters)) throw core::Error("the scrypt parameters are not legal");
  const std::uint64_t memory = parameters.memory();
  if (memory > kMostMemory) {
    throw core::Error(fmt::format("scrypt would take {} MiB of memory", memory >> 20));
  }
  LockedBytes<32> key;
  // The library counts some blocks beside the table.
  const int good = EVP_PBE_scrypt(
      reinterpret_cast<const char*>(passphrase.data()), passphrase.size(), in(parameters.salt),
      parameters.salt.size(), std::uint64_t{1} << parameters.log2_n, parameters.r, parameters.p,
      memory + (std::uint64_t{1} << 20), out(key.bytes()), key.bytes().size());
  wipe_stack();  // where PBKDF2 and HMAC inside have their results
  require(good == 1, "scrypt (its memory may not be there)");
  return key;
}

}  // namespace tabane::crypto
