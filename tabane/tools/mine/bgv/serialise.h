// Records: parameters, keys and ciphertexts as bytes, with everything that tells whether they are
// whole and belong together. A file is one record or several, one behind the other.
//
// A record, all numbers little-endian: "tabanBGV", version, kind, flags (1: insecure parameters), 0
// (4 bytes each), 16 bytes that identify the parameters, the key id, the payload's bytes (8), the
// payload, and the SHA-256 of all that. The payloads:
//   parameters       N, t, the special prime or 0, the number of primes, the primes (8 bytes each)
//   secret key       N bytes of -1, 0, 1
//   public key       seed of a (32 bytes), b
//   evaluation keys  1 if there is a relinearisation key (8), the number of rotation keys (8), then
//                    each key: exponent g (0: relinearisation), seed of all a, b
//   ciphertext       components, primes, 1 if c1 is a seed's (8 each), the deviation's bits, then
//   the
//                    seed and c0, or all components
// Residues take 8 bytes each, in the order of words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/keys.h"

namespace tabane::mine::bgv {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kRecordHead = 64, kRecordTail = 32;

enum class RecordKind : std::uint32_t {
  parameters = 1,
  secret_key = 2,
  public_key = 3,
  evaluation_keys = 4,
  ciphertext = 5,
};

// The secret key's bytes go to a file that its owner alone can read, and are to be wiped after
// that.
std::string save(const Parameters& parameters);
std::string save(const SecretKey& key);
std::string save(const Context& context, const PublicKey& key);
std::string save(const Context& context, const EvaluationKeys& keys);
std::string save(const Context& context, const CiphertextView& ciphertext);
std::string save(const Context& context, const Ciphertext& ciphertext);  // with its seed

struct RecordHead {
  RecordKind kind{};
  bool insecure = false;
  KeyId key{};
  std::uint64_t bytes = 0;  // of the whole record
};

// All that follow: name is what errors call the source of the bytes, a file for example.
// throw: core::Error naming it, if the bytes are no record, of another version, of another kind,
// cut off, damaged, of other parameters, or hold what no such thing can be.

// Reads the first kRecordHead bytes of a record: for readers of files with many of them.
RecordHead read_head(std::string_view head, std::string_view name);

// Cuts the first record off the bytes.
std::string_view take_record(std::string_view& bytes, std::string_view name);

// record: exactly one. Insecure parameters: core::UsageError naming the option, unless allowed.
Parameters load_parameters(std::string_view record, std::string_view name, bool allow_insecure);
SecretKey load_secret_key(std::string_view record, std::string_view name,
                          const SharedContext& context);
PublicKey load_public_key(std::string_view record, std::string_view name, const Context& context);
EvaluationKeys load_evaluation_keys(std::string_view record, std::string_view name,
                                    const Context& context);
Ciphertext load_ciphertext(std::string_view record, std::string_view name, const Context& context);

}  // namespace tabane::mine::bgv
