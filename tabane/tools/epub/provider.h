// Who signs licences: a provider, known by an X.509 certificate.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tabane::epub {

inline constexpr const char* kRsaSha256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

class Provider {
 public:
  // Makes a key of 2048 bits and a certificate for tests that nobody vouches for; both live as long
  // as this. cost: a tenth of a second, more or less, as the search for primes has it.
  static Provider for_tests();
  // Reads PEM files. throws: core::SystemError; core::UsageError naming the file that is no RSA key
  // or certificate, or if they do not belong together.
  static Provider from_files(const std::string& certificate, const std::string& key);
  ~Provider();
  Provider(Provider&&) noexcept;
  Provider& operator=(Provider&&) noexcept;

  std::string certificate() const;  // DER
  // RSA-SHA256 (PKCS#1 v1.5). Thread-safe.
  std::string sign(std::string_view text) const;

 private:
  struct State;
  explicit Provider(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What a certificate in a licence says.
struct SignatureCheck {
  bool good = false;
  std::string problem;      // why it is not; empty: it is
  std::string subject;      // of the certificate: "CN=…"; empty: it cannot be read
  bool self_made = false;   // the certificate is signed by itself
  std::string valid_until;  // ISO 8601
};

// Whether the key of a certificate (DER) has signed a text. Who vouches for the certificate is not
// asked: the basic profile has no authority.
SignatureCheck check_signature(std::string_view text, std::string_view algorithm,
                               std::string_view certificate, std::string_view signature);

}  // namespace tabane::epub
