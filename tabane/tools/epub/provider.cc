#include "tabane/tools/epub/provider.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <ctime>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/crypto/openssl.h"
#include "tabane/crypto/secret.h"

namespace tabane::epub {
namespace {

template <auto free>
struct Free {
  void operator()(auto* one) const { free(one); }
};
using PrivateKey = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Memory = std::unique_ptr<BIO, Free<BIO_free>>;

constexpr unsigned kKeyBits = 2048;
constexpr long kYear = 365L * 24 * 3600;

const unsigned char* bytes_in(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Reads the text where it stands.
Memory memory_of(const std::string& text) {
  return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string text_of(const Memory& memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return size > 0 ? std::string(bytes, static_cast<std::size_t>(size)) : std::string();
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

struct Provider::State {
  PrivateKey key;
  Certificate certificate;
};

Provider::Provider(std::unique_ptr<State> state) : state_(std::move(state)) {}
Provider::~Provider() = default;
Provider::Provider(Provider&&) noexcept = default;
Provider& Provider::operator=(Provider&&) noexcept = default;

Provider Provider::for_tests() {
  auto state = std::make_unique<State>();
  state->key.reset(EVP_RSA_gen(kKeyBits));
  crypto::require(state->key != nullptr, "an RSA key");
  state->certificate = self_signed(state->key.get());
  return Provider(std::move(state));
}

Provider Provider::from_files(const std::string& certificate, const std::string& key) {
  auto state = std::make_unique<State>();
  const std::string certificate_text = core::read_file(certificate);
  const Memory certificate_pem = memory_of(certificate_text);
  state->certificate.reset(PEM_read_bio_X509(certificate_pem.get(), nullptr, nullptr, nullptr));
  if (!state->certificate) {
    throw core::UsageError(
        fmt::format("--certificate {}: holds no certificate in PEM", certificate));
  }
  // A key under a passphrase would ask for it here.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  std::string key_text = core::read_file(key);
  const Memory key_pem = memory_of(key_text);
  state->key.reset(PEM_read_bio_PrivateKey(key_pem.get(), nullptr, no_passphrase, nullptr));
  crypto::wipe(std::as_writable_bytes(std::span(key_text)));
  if (!state->key || EVP_PKEY_get_base_id(state->key.get()) != EVP_PKEY_RSA) {
    throw core::UsageError(
        fmt::format("--private-key {}: holds no RSA key in PEM, or one under a passphrase", key));
  }
  if (X509_check_private_key(state->certificate.get(), state->key.get()) != 1) {
    throw core::UsageError(fmt::format("--private-key {}: is not the key of {}", key, certificate));
  }
  return Provider(std::move(state));
}

std::string Provider::certificate() const {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(state_->certificate.get(), &bytes);
  crypto::require(size > 0, "a certificate");
  std::string text(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return text;
}

std::string Provider::sign(std::string_view text) const {
  const crypto::DigestContext digest(EVP_MD_CTX_new());
  std::size_t size = 0;
  crypto::require(
      digest &&
          EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, state_->key.get()) ==
              1 &&
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
  check.self_made = key != nullptr && X509_verify(parsed.get(), key) == 1;
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
