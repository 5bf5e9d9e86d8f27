#include "tabane/tools/epub/cryptography.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/lab/record/text.h"

namespace tabane::epub {

using crypto::kBlockBytes;

std::optional<std::size_t> without_padding(std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() % kBlockBytes != 0) return std::nullopt;
  const auto padding = std::to_integer<std::size_t>(bytes.back());
  if (padding < 1 || padding > kBlockBytes) return std::nullopt;
  return bytes.size() - padding;
}

std::string encrypt_value(const Key& key, std::span<const std::byte> value) {
  std::vector<std::byte> bytes(encrypted_bytes(value.size()));
  crypto::Block iv;
  crypto::fill_random(iv);
  std::ranges::copy(iv, bytes.begin());
  std::byte* const text = bytes.data() + kBlockBytes;
  std::ranges::copy(value, text);
  const crypto::ChainPiece piece{text, text, crypto::pad_pkcs7(text, value.size()), &iv};
  crypto::CbcCipher(key.bytes(), crypto::Engine::openssl).encrypt({&piece, 1});
  return lab::to_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<std::string> decrypt_value(const Key& key, std::string_view text) {
  constexpr std::size_t kMostText = 1400;
  std::optional<std::string> bytes;
  if (text.size() <= kMostText) bytes = from_base64(text);
  if (!bytes || bytes->size() < 2 * kBlockBytes || bytes->size() % kBlockBytes != 0) {
    return std::nullopt;
  }
  const auto all = std::as_writable_bytes(std::span(*bytes));
  const auto content = all.subspan(kBlockBytes);
  crypto::Block iv;
  std::copy_n(all.begin(), kBlockBytes, iv.begin());
  crypto::CbcCipher(key.bytes(), crypto::Engine::openssl)
      .decrypt({content.data(), content.data(), content.size(), &iv});
  const auto length = without_padding(content);
  std::optional<std::string> value;
  if (length) value = bytes->substr(kBlockBytes, *length);
  crypto::wipe(all);
  return value;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(crypto::out(std::as_writable_bytes(std::span(bytes))),
                      reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size())) < 0) {
    return std::nullopt;
  }
  const std::size_t filled = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(bytes.size() - filled);
  return bytes;
}

namespace {

using Memory = std::unique_ptr<BIO, crypto::FreedBy<BIO_free>>;

constexpr unsigned kKeyBits = 2048;
constexpr long kYear = 365L * 24 * 3600;

const unsigned char* bytes_in(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Reads the text without a copy.
Memory memory_of(const std::string& text) {
  return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string text_of(const Memory& memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return size > 0 ? std::string(bytes, size) : std::string();
}

std::string subject_of(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(memory.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  return text_of(memory);
}

std::string time_of(const ASN1_TIME* time) {
  std::tm utc{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &utc) != 1) return "a moment that cannot be read";
  return fmt::format("{:%FT%TZ}", utc);
}

Certificate self_signed(EVP_PKEY* key) {
  Certificate certificate(X509_new());
  X509* const c = certificate.get();
  X509_NAME* const name = c == nullptr ? nullptr : X509_get_subject_name(c);
  const auto* const what = reinterpret_cast<const unsigned char*>("tabane test provider");
  crypto::require(name != nullptr && X509_set_version(c, X509_VERSION_3) == 1 &&
                      ASN1_INTEGER_set(X509_get_serialNumber(c), 1) == 1 &&
                      X509_gmtime_adj(X509_getm_notBefore(c), 0) != nullptr &&
                      X509_gmtime_adj(X509_getm_notAfter(c), kYear) != nullptr &&
                      X509_set_pubkey(c, key) == 1 &&
                      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, what, -1, -1, 0) == 1 &&
                      X509_set_issuer_name(c, name) == 1 && X509_sign(c, key, EVP_sha256()) > 0,
                  "a certificate");
  return certificate;
}

}  // namespace

Provider Provider::for_tests() {
  PrivateKey key(EVP_RSA_gen(kKeyBits));
  crypto::require(key != nullptr, "an RSA key");
  Certificate certificate = self_signed(key.get());
  return {std::move(key), std::move(certificate)};
}

Provider Provider::from_files(const std::string& certificate_file, const std::string& key_file) {
  const std::string certificate_text = core::read_file(certificate_file);
  const Memory certificate_pem = memory_of(certificate_text);
  Certificate certificate(PEM_read_bio_X509(certificate_pem.get(), nullptr, nullptr, nullptr));
  if (!certificate) {
    throw core::UsageError("--certificate {}: holds no certificate in PEM", certificate_file);
  }
  // A key under a passphrase would ask for it here.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  std::string key_text = core::read_file(key_file);
  const Memory key_pem = memory_of(key_text);
  PrivateKey key(PEM_read_bio_PrivateKey(key_pem.get(), nullptr, no_passphrase, nullptr));
  crypto::wipe(std::as_writable_bytes(std::span(key_text)));
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) {
    throw core::UsageError("--private-key {}: holds no RSA key in PEM, or one under a passphrase",
                           key_file);
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    throw core::UsageError("--private-key {}: is not the key of {}", key_file, certificate_file);
  }
  return {std::move(key), std::move(certificate)};
}

std::string Provider::certificate() const {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate_.get(), &bytes);
  crypto::require(size > 0, "a certificate");
  std::string text(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return text;
}

std::string Provider::sign(std::string_view text) const {
  const crypto::DigestContext digest(EVP_MD_CTX_new());
  std::size_t size = 0;
  crypto::require(
      digest && EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
          EVP_DigestSign(digest.get(), nullptr, &size, bytes_in(text), text.size()) == 1,
      "a signature");
  std::string signature(size, '\0');
  crypto::require(EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(signature.data()),
                                 &size, bytes_in(text), text.size()) == 1,
                  "a signature");
  signature.resize(size);
  return signature;
}

SignatureCheck check_signature(std::string_view text, std::string_view algorithm,
                               std::string_view certificate, std::string_view signature) {
  SignatureCheck check;
  const unsigned char* der = bytes_in(certificate);
  const Certificate parsed(d2i_X509(nullptr, &der, static_cast<long>(certificate.size())));
  if (!parsed) {
    check.problem = "its certificate cannot be read";
    return check;
  }
  check.subject = subject_of(parsed.get());
  check.valid_until = time_of(X509_get0_notAfter(parsed.get()));
  EVP_PKEY* const key = X509_get0_pubkey(parsed.get());
  // OpenSSL knows no names here but those that it is given (crypto/secret.cc).
  for (const EVP_MD* const digest : {EVP_sha1(), EVP_sha256(), EVP_sha384(), EVP_sha512()}) {
    EVP_add_digest(digest);
  }
  check.self_signed = key != nullptr && X509_verify(parsed.get(), key) == 1;
  if (key == nullptr || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) {
    check.problem = "its certificate has no RSA key";
    return check;
  }
  if (algorithm != kRsaSha256) {
    check.problem = fmt::format("it is made by {}; only rsa-sha256 is known here",
                                algorithm.empty() ? "an algorithm without a name" : algorithm);
    return check;
  }
  const crypto::DigestContext digest(EVP_MD_CTX_new());
  crypto::require(
      digest && EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key) == 1,
      "a signature");
  check.good = EVP_DigestVerify(digest.get(), bytes_in(signature), signature.size(), bytes_in(text),
                                text.size()) == 1;
  if (!check.good) check.problem = "the licence was altered after it was signed";
  return check;
}

}  // namespace tabane::epub
