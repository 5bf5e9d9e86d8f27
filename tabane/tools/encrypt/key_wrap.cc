#include "tabane/tools/encrypt/key_wrap.h"

#include "tabane/crypto/openssl.h"

namespace tabane::encrypt {
namespace {

constexpr int kTag = 16;
constexpr std::array<std::byte, 12> kNonce{};

// A context that has the key, the nonce and the fields. encrypts: 1 or 0.
crypto::CipherContext begin(const crypto::SecretBytes<32>& wrapping,
                            std::span<const std::byte> public_fields, int encrypts) {
  crypto::CipherContext context(EVP_CIPHER_CTX_new());
  int done = 0;
  crypto::require(
      context &&
          EVP_CipherInit_ex2(context.get(), EVP_aes_256_gcm(), crypto::in(wrapping.bytes()),
                             crypto::in(kNonce), encrypts, nullptr) == 1 &&
          EVP_CipherUpdate(context.get(), nullptr, &done, crypto::in(public_fields),
                           static_cast<int>(public_fields.size())) == 1,
      "AES-256-GCM");
  return context;
}

}  // namespace

WrappedKey wrap_key(const crypto::SecretBytes<32>& wrapping,
                    std::span<const std::byte> public_fields, const TreeKey& key) {
  const crypto::CipherContext context = begin(wrapping, public_fields, 1);
  WrappedKey wrapped;
  int done = 0, rest = 0;
  crypto::require(EVP_CipherUpdate(context.get(), crypto::out(wrapped), &done,
                                   crypto::in(key.bytes()), kTreeKeyBytes) == 1 &&
                      EVP_CipherFinal_ex(context.get(), crypto::out(wrapped) + done, &rest) == 1 &&
                      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTag,
                                          wrapped.data() + kTreeKeyBytes) == 1,
                  "wrapping a key");
  return wrapped;
}

std::optional<TreeKey> unwrap_key(const crypto::SecretBytes<32>& wrapping,
                                  std::span<const std::byte> public_fields,
                                  const WrappedKey& wrapped) {
  const crypto::CipherContext context = begin(wrapping, public_fields, 0);
  WrappedKey copy = wrapped;  // the library does not promise to leave the tag as it is
  TreeKey key;
  int done = 0, rest = 0;
  crypto::require(EVP_CipherUpdate(context.get(), crypto::out(key.bytes()), &done, crypto::in(copy),
                                   kTreeKeyBytes) == 1 &&
                      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTag,
                                          copy.data() + kTreeKeyBytes) == 1,
                  "unwrapping a key");
  if (EVP_CipherFinal_ex(context.get(), crypto::out(key.bytes()) + done, &rest) != 1)
    return std::nullopt;
  return key;
}

}  // namespace tabane::encrypt
