// The cryptography of books: AES-256-CBC as XML Encryption writes it, and the signatures of
// providers.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tabane/crypto/cbc_cipher.h"
#include "tabane/crypto/openssl.h"
#include "tabane/crypto/secret.h"

namespace tabane::epub {

// ---- AES-256-CBC ----
//
// A random IV comes first. The last byte of the padding is its length; the other bytes are
// arbitrary. source: https://www.w3.org/TR/xmlenc-core1/, section 5.2.

inline constexpr const char* kAes256Cbc = "http://www.w3.org/2001/04/xmlenc#aes256-cbc";
inline constexpr std::size_t kKeyBytes = 32;
using Key = crypto::SecretBytes<kKeyBytes>;

// Returns the bytes with the IV and the padding.
constexpr std::uint64_t encrypted_bytes(std::uint64_t plain) {
  return crypto::kBlockBytes + (plain / crypto::kBlockBytes + 1) * crypto::kBlockBytes;
}

// Returns the length of decrypted bytes without padding; null if they cannot be padded bytes.
std::optional<std::size_t> without_padding(std::span<const std::byte> bytes);

// Encrypts a short value, such as a key, into base64, as licences have it.
std::string encrypt_value(const Key& key, std::span<const std::byte> value);
// Returns null if `text` is not such a value of at most 1 KiB, or the padding shows that it was
// encrypted with another key.
std::optional<std::string> decrypt_value(const Key& key, std::string_view text);

// Returns null if the text is not base64.
std::optional<std::string> from_base64(std::string_view text);

// ---- signatures ----

inline constexpr const char* kRsaSha256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

using PrivateKey = std::unique_ptr<EVP_PKEY, crypto::FreedBy<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, crypto::FreedBy<X509_free>>;

// A signer of licences with an X.509 certificate.
class Provider {
 public:
  // Makes a key of 2048 bits and a certificate for tests, for which nobody vouches. cost: about a
  // tenth of a second; the search for primes varies.
  static Provider for_tests();
  // Reads PEM files. throws: core::SystemError; core::UsageError naming the file that holds no RSA
  // key or certificate, or if they do not belong together.
  static Provider from_files(const std::string& certificate_file, const std::string& key_file);

  std::string certificate() const;  // DER
  // RSA-SHA256 (PKCS#1 v1.5). Thread-safe.
  std::string sign(std::string_view text) const;

 private:
  Provider(PrivateKey key, Certificate certificate)
      : key_(std::move(key)), certificate_(std::move(certificate)) {}

  PrivateKey key_;
  Certificate certificate_;
};

// The signature of a licence and its certificate.
struct SignatureCheck {
  bool good = false;
  std::string problem;       // why it is not; empty: it is
  std::string subject;       // of the certificate: "CN=…"; empty: it cannot be read
  bool self_signed = false;  // the certificate
  std::string valid_until;   // ISO 8601
};

// Checks whether the key of a certificate (DER) has signed a text, but not who vouches for the
// certificate: the basic profile has no authority.
SignatureCheck check_signature(std::string_view text, std::string_view algorithm,
                               std::string_view certificate, std::string_view signature);

}  // namespace tabane::epub
