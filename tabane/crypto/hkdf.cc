#include "tabane/crypto/hkdf.h"

#include <algorithm>
#include <initializer_list>

#include "tabane/crypto/openssl.h"

namespace tabane::crypto {
namespace {

constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kBlockOfHash = 64;
constexpr std::byte kInnerPad{0x36}, kOuterPad{0x5c};  // RFC 2104

using Parts = std::initializer_list<std::span<const std::byte>>;

// Looking an algorithm up takes longer than hashing a header; reachable until the process ends.
const EVP_MD* sha256_algorithm() {
  static const EVP_MD* const digest = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return digest;
}

}  // namespace

struct HkdfSha256::State {
  DigestContext context{EVP_MD_CTX_new()};
  SecretBytes<kHashBytes> prk;

  void hash_behind(const SecretBytes<kBlockOfHash>& pad, Parts parts,
                   std::span<std::byte, kHashBytes> digest) {
    bool good = EVP_DigestInit_ex2(context.get(), sha256_algorithm(), nullptr) == 1 &&
                EVP_DigestUpdate(context.get(), pad.bytes().data(), kBlockOfHash) == 1;
    for (const auto part : parts) {
      good = good && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
    }
    require(good && EVP_DigestFinal_ex(context.get(), out(digest), nullptr) == 1, "SHA-256");
  }

  // key: at most a block. mac may be the key or one of the parts.
  void hmac(std::span<const std::byte> key, Parts parts, std::span<std::byte, kHashBytes> mac) {
    SecretBytes<kBlockOfHash> pad;
    std::ranges::copy(key, pad.bytes().begin());
    for (std::byte& b : pad.bytes()) b ^= kInnerPad;
    SecretBytes<kHashBytes> inner;
    hash_behind(pad, parts, inner.bytes());
    for (std::byte& b : pad.bytes()) b ^= kInnerPad ^ kOuterPad;
    hash_behind(pad, {inner.bytes()}, mac);
  }
};

HkdfSha256::HkdfSha256() : state_(std::make_unique<State>()) {
  require(state_->context && sha256_algorithm() != nullptr, "SHA-256");
}

HkdfSha256::~HkdfSha256() = default;

void HkdfSha256::extract(std::span<const std::byte> salt, std::span<const std::byte> key) {
  SecretBytes<kHashBytes> hashed;
  if (salt.size() > kBlockOfHash) {
    bool good = EVP_DigestInit_ex2(state_->context.get(), sha256_algorithm(), nullptr) == 1 &&
                EVP_DigestUpdate(state_->context.get(), salt.data(), salt.size()) == 1 &&
                EVP_DigestFinal_ex(state_->context.get(), out(hashed.bytes()), nullptr) == 1;
    require(good, "SHA-256");
    salt = hashed.bytes();
  }
  state_->hmac(salt, {key}, state_->prk.bytes());
}

void HkdfSha256::expand(std::span<const std::byte> label, std::span<const std::byte> context,
                        std::span<std::byte> okm) {
  TABANE_ASSERT(okm.size() <= 255 * kHashBytes);
  SecretBytes<kHashBytes> t;
  std::span<const std::byte> before;
  for (std::size_t done = 0; done < okm.size(); done += kHashBytes) {
    const std::byte counter{static_cast<unsigned char>(done / kHashBytes + 1)};
    state_->hmac(state_->prk.bytes(), {before, label, context, std::span(&counter, 1)}, t.bytes());
    before = t.bytes();
    const auto here = okm.subspan(done, std::min(kHashBytes, okm.size() - done));
    std::ranges::copy(before.first(here.size()), here.begin());
  }
}

void HkdfSha256::forget() { wipe(state_->prk.bytes()); }

SecretBytes<32> derive_key(std::span<const std::byte> key, std::span<const std::byte> salt,
                           std::string_view label, std::span<const std::byte> context) {
  HkdfSha256 hkdf;
  SecretBytes<32> result;
  hkdf.extract(salt, key);
  hkdf.expand(std::as_bytes(std::span(label.data(), label.size())), context, result.bytes());
  return result;
}

}  // namespace tabane::crypto
