#include "tabane/crypto/chunk_cipher.h"

#include <openssl/crypto.h>

#include <array>

#include "tabane/crypto/openssl.h"
#include "tabane/crypto/secret.h"

#ifdef TABANE_IPSEC_MB
#include <intel-ipsec-mb.h>
#endif

namespace tabane::crypto {
namespace {

using Nonce = std::array<std::byte, 12>;

Nonce nonce_of(std::uint32_t index, bool last) {
  Nonce nonce{};
  for (std::size_t i = 0; i < 4; ++i) {
    nonce[7 + i] = static_cast<std::byte>(index >> (24 - 8 * i));
  }
  nonce[11] = static_cast<std::byte>(last ? 1 : 0);
  return nonce;
}

}  // namespace

// AES-256-GCM without additional data; `to` has as many bytes as `from`.
class ChunkCipher::Gcm {
 public:
  virtual ~Gcm() = default;
  virtual void set_key(std::span<const std::byte, 32> key) = 0;
  virtual void encrypt(const Nonce& nonce, std::span<const std::byte> from, std::span<std::byte> to,
                       std::span<std::byte, kTagBytes> tag) = 0;
  virtual bool decrypt(const Nonce& nonce, std::span<const std::byte> from, std::span<std::byte> to,
                       std::span<const std::byte, kTagBytes> tag) = 0;
};

namespace {

// The two directions of GCM have one key schedule, so that one context serves both.
class OpensslGcm : public ChunkCipher::Gcm {
 public:
  OpensslGcm() {
    static const EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
    require(context_ && cipher != nullptr &&
                EVP_CipherInit_ex2(context_.get(), cipher, nullptr, nullptr, 1, nullptr) == 1,
            "AES-256-GCM");
  }

  void set_key(std::span<const std::byte, 32> key) override {
    require(EVP_CipherInit_ex2(context_.get(), nullptr, in(key), nullptr, 1, nullptr) == 1,
            "the key of a file");
  }

  void encrypt(const Nonce& nonce, std::span<const std::byte> from, std::span<std::byte> to,
               std::span<std::byte, kTagBytes> tag) override {
    require(
        run(nonce, 1, from, to) && finish(to) &&
            EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, out(tag)) == 1,
        "sealing a chunk");
  }

  bool decrypt(const Nonce& nonce, std::span<const std::byte> from, std::span<std::byte> to,
               std::span<const std::byte, kTagBytes> tag) override {
    auto* expected = const_cast<unsigned char*>(in(tag));
    require(run(nonce, 0, from, to) && EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG,
                                                           kTagBytes, expected) == 1,
            "opening a chunk");
    return finish(to);
  }

 private:
  bool run(const Nonce& nonce, int encrypts, std::span<const std::byte> from,
           std::span<std::byte> to) {
    int written = 0;
    return EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, in(nonce), encrypts, nullptr) ==
               1 &&
           EVP_CipherUpdate(context_.get(), out(to), &written, in(from),
                            static_cast<int>(from.size())) == 1 &&
           written == static_cast<int>(from.size());
  }

  bool finish(std::span<std::byte> to) {
    int rest = 0;
    return EVP_CipherFinal_ex(context_.get(), out(to) + to.size(), &rest) == 1;
  }

  CipherContext context_{EVP_CIPHER_CTX_new()};
};

#ifdef TABANE_IPSEC_MB

class IpsecMbGcm : public ChunkCipher::Gcm {
 public:
  IpsecMbGcm() { require(manager_ != nullptr, "intel-ipsec-mb"); }
  ~IpsecMbGcm() override {
    imb_clear_mem(&key_, sizeof key_);
    imb_clear_mem(&context_, sizeof context_);
  }

  void set_key(std::span<const std::byte, 32> key) override {
    IMB_AES256_GCM_PRE(manager_.get(), key.data(), &key_);
    require(imb_get_errno(manager_.get()) == 0, "the key of a file");
  }

  void encrypt(const Nonce& nonce, std::span<const std::byte> from, std::span<std::byte> to,
               std::span<std::byte, kTagBytes> tag) override {
    IMB_AES256_GCM_ENC(manager_.get(), &key_, &context_, out(to), in(from), from.size(), in(nonce),
                       nullptr, 0, out(tag), kTagBytes);
    require(imb_get_errno(manager_.get()) == 0, "sealing a chunk");
  }

  bool decrypt(const Nonce& nonce, std::span<const std::byte> from, std::span<std::byte> to,
               std::span<const std::byte, kTagBytes> tag) override {
    std::array<std::byte, kTagBytes> computed;
    IMB_AES256_GCM_DEC(manager_.get(), &key_, &context_, out(to), in(from), from.size(), in(nonce),
                       nullptr, 0, out(computed), kTagBytes);
    require(imb_get_errno(manager_.get()) == 0, "opening a chunk");
    return CRYPTO_memcmp(computed.data(), tag.data(), kTagBytes) == 0;
  }

 private:
  Manager manager_ = make_manager();
  gcm_key_data key_{};
  gcm_context_data context_{};
};

#endif

std::unique_ptr<ChunkCipher::Gcm> make_gcm(Engine engine) {
#ifdef TABANE_IPSEC_MB
  if (resolve(engine) == Engine::ipsec_mb) return std::make_unique<IpsecMbGcm>();
#endif
  resolve(engine);
  return std::make_unique<OpensslGcm>();
}

}  // namespace

ChunkCipher::ChunkCipher(Engine engine) : gcm_(make_gcm(engine)) {}

ChunkCipher::~ChunkCipher() = default;

void ChunkCipher::set_key(std::span<const std::byte, 32> key) { gcm_->set_key(key); }

void ChunkCipher::seal(std::uint32_t index, bool last, std::span<const std::byte> plain,
                       std::span<std::byte> sealed) {
  TABANE_ASSERT(sealed.size() == plain.size() + kTagBytes);
  gcm_->encrypt(nonce_of(index, last), plain, sealed.first(plain.size()), sealed.last<kTagBytes>());
}

bool ChunkCipher::open(std::uint32_t index, bool last, std::span<const std::byte> sealed,
                       std::span<std::byte> plain) {
  TABANE_ASSERT(sealed.size() == plain.size() + kTagBytes);
  const bool good = gcm_->decrypt(nonce_of(index, last), sealed.first(plain.size()), plain,
                                  sealed.last<kTagBytes>());
  if (!good) wipe(plain);
  return good;
}

}  // namespace tabane::crypto
