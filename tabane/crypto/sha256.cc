#include "tabane/crypto/sha256.h"

#include <openssl/evp.h>

#include "tabane/core/error.h"

namespace tabane::crypto {
namespace {

void require(bool good) {
  if (!good) throw core::Error("the crypto library failed: SHA-256");
}

unsigned char* out(Sha256Sum& sum) { return reinterpret_cast<unsigned char*>(sum.data()); }

}  // namespace

Sha256Sum sha256(std::span<const std::byte> bytes) {
  Sha256Sum sum;
  require(EVP_Digest(bytes.data(), bytes.size(), out(sum), nullptr, EVP_sha256(), nullptr) == 1);
  return sum;
}

struct Sha256Stream::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  require(state_->context && EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::put(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

Sha256Sum Sha256Stream::finish() {
  Sha256Sum sum;
  require(EVP_DigestFinal_ex(state_->context.get(), out(sum), nullptr) == 1);
  return sum;
}

}  // namespace tabane::crypto
