#include "tabane/crypto/key_derivation.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <memory>

#include "tabane/core/error.h"

namespace tabane::crypto {
namespace {

constexpr std::size_t kBlockOfHash = 64;
constexpr std::byte kInnerPad{0x36}, kOuterPad{0x5c};  // RFC 2104

// Looked up once, since that takes longer than hashing a header; never freed.
const EVP_MD* sha256_algorithm() {
  static const EVP_MD* const digest = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return digest;
}

constexpr std::uint64_t kMostMemory = std::uint64_t{4} << 30;  // what a header may ask for

using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreedBy<EVP_PKEY_CTX_free>>;

Key key_of(const X25519Secret& secret) {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, in(secret.bytes()), kX25519Bytes));
  require(key != nullptr, "a secret key of X25519");
  return key;
}

}  // namespace

HkdfSha256::HkdfSha256() { require(context_ && sha256_algorithm() != nullptr, "SHA-256"); }

void HkdfSha256::hash(Parts parts, Digest digest, std::span<const std::byte> first) {
  bool good = EVP_DigestInit_ex2(context_.get(), sha256_algorithm(), nullptr) == 1 &&
              EVP_DigestUpdate(context_.get(), first.data(), first.size()) == 1;
  for (const auto part : parts) {
    good = good && EVP_DigestUpdate(context_.get(), part.data(), part.size()) == 1;
  }
  require(good && EVP_DigestFinal_ex(context_.get(), out(digest), nullptr) == 1, "SHA-256");
}

void HkdfSha256::hmac(std::span<const std::byte> key, Parts parts, Digest mac) {
  SecretBytes<kBlockOfHash> pad;
  std::ranges::copy(key, pad.bytes().begin());
  for (std::byte& b : pad.bytes()) b ^= kInnerPad;
  SecretBytes<kHashBytes> inner;
  hash(parts, inner.bytes(), pad.bytes());
  for (std::byte& b : pad.bytes()) b ^= kInnerPad ^ kOuterPad;
  hash({inner.bytes()}, mac, pad.bytes());
}

void HkdfSha256::extract(std::span<const std::byte> salt, std::span<const std::byte> key) {
  SecretBytes<kHashBytes> hashed;
  if (salt.size() > kBlockOfHash) {
    hash({salt}, hashed.bytes());
    salt = hashed.bytes();
  }
  hmac(salt, {key}, prk_.bytes());
}

void HkdfSha256::expand(std::span<const std::byte> label, std::span<const std::byte> context,
                        std::span<std::byte> okm) {
  TABANE_ASSERT(okm.size() <= 255 * kHashBytes);
  SecretBytes<kHashBytes> t;
  std::span<const std::byte> before;
  for (std::size_t done = 0; done < okm.size(); done += kHashBytes) {
    const std::byte counter{static_cast<unsigned char>(done / kHashBytes + 1)};
    hmac(prk_.bytes(), {before, label, context, std::span(&counter, 1)}, t.bytes());
    before = t.bytes();
    const auto here = okm.subspan(done, std::min(kHashBytes, okm.size() - done));
    std::ranges::copy(before.first(here.size()), here.begin());
  }
}

SecretBytes<32> derive_key(std::span<const std::byte> key, std::span<const std::byte> salt,
                           std::string_view label, std::span<const std::byte> context) {
  HkdfSha256 hkdf;
  SecretBytes<32> result;
  hkdf.extract(salt, key);
  hkdf.expand(std::as_bytes(std::span(label.data(), label.size())), context, result.bytes());
  return result;
}

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
    throw core::Error("scrypt would take {} MiB of memory", memory >> 20);
  }
  LockedBytes<32> key;
  // The library counts some blocks in addition to the table.
  const int good = EVP_PBE_scrypt(
      reinterpret_cast<const char*>(passphrase.data()), passphrase.size(), in(parameters.salt),
      parameters.salt.size(), std::uint64_t{1} << parameters.log2_n, parameters.r, parameters.p,
      memory + (std::uint64_t{1} << 20), out(key.bytes()), key.bytes().size());
  wipe_stack();  // where PBKDF2 and HMAC inside have their results
  require(good == 1, "scrypt (its memory may not be there)");
  return key;
}

X25519Public x25519_public(const X25519Secret& secret) {
  X25519Public result;
  std::size_t size = result.size();
  require(EVP_PKEY_get_raw_public_key(key_of(secret).get(), out(result), &size) == 1, "X25519");
  return result;
}

SecretBytes<kX25519Bytes> x25519_shared(const X25519Secret& mine, const X25519Public& theirs) {
  const Key secret = key_of(mine);
  const Key other(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, in(theirs), theirs.size()));
  const KeyContext context(EVP_PKEY_CTX_new(secret.get(), nullptr));
  require(other && context && EVP_PKEY_derive_init(context.get()) == 1 &&
              EVP_PKEY_derive_set_peer_ex(context.get(), other.get(), 0) == 1,
          "X25519");
  SecretBytes<kX25519Bytes> shared;
  std::size_t size = kX25519Bytes;
  // The library refuses the shared secret 0 from version 1.1.0 on; other providers may not.
  const bool good = EVP_PKEY_derive(context.get(), out(shared.bytes()), &size) == 1;
  constexpr std::array<std::byte, kX25519Bytes> kZero{};
  if (!good || CRYPTO_memcmp(shared.bytes().data(), kZero.data(), kX25519Bytes) == 0) {
    throw core::Error("the public key is of small order: it protects nothing");
  }
  return shared;
}

}  // namespace tabane::crypto
