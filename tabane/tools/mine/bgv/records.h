// Records: parameters, keys and ciphertexts as bytes, with what is needed to check that they are
// whole and belong together.
//
// A record is a frame (frame.h): "tabanBGV", version, kind, flags (1: insecure parameters), 0
// (4 bytes each), 16 bytes that identify the parameters, the key id, the payload's bytes (8), the
// payload, and the SHA-256 of all that. The payloads:
//   parameters       N, t, the special prime or 0, the number of primes, the primes (8 bytes each)
//   secret key       N bytes of -1, 0, 1
//   evaluation keys  1 if there is a relinearisation key (8), the number of rotation keys (8), then
//                    each key: exponent g (0: relinearisation), seed of all a, b
//   ciphertext       components, primes, 1 if c1 is a seed's (8 each), the deviation's bits, then
//                    the seed and c0, or all components
// Residues take 8 bytes each, in the order of words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tabane/tools/mine/bgv/keys.h"

namespace tabane::mine::bgv {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kRecordHead = 64, kRecordTail = 32;

enum class RecordKind : std::uint32_t {
  parameters = 1,
  secret_key = 2,
  evaluation_keys = 4,
  ciphertext = 5,
};

// Return records. That of the secret key belongs into a file that only its owner can read, and must
// be wiped after that.
std::string save(const Parameters& parameters);
std::string save(const SecretKey& key);
std::string save(const Context& context, const EvaluationKeys& keys);
std::string save(const Context& context, const CiphertextView& ciphertext);
std::string save(const Context& context, const Ciphertext& ciphertext);  // with its seed

// All that follow throw core::Error if the bytes are no record, have another version or kind, are
// cut off, damaged, made with other parameters, or hold values that such a thing cannot have. name:
// of the source of the bytes in errors, for example a file.

// record: exactly one. throws: core::UsageError naming the option if the parameters are insecure
// and that is not allowed.
Parameters load_parameters(std::string_view record, std::string_view name, bool allow_insecure);
SecretKey load_secret_key(std::string_view record, std::string_view name,
                          const SharedContext& context);
EvaluationKeys load_evaluation_keys(std::string_view record, std::string_view name,
                                    const Context& context);
Ciphertext load_ciphertext(std::string_view record, std::string_view name, const Context& context);

}  // namespace tabane::mine::bgv
