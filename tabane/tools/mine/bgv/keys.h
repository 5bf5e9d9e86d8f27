// Keys. A SecretKey stays with whoever owns the data; the others are public.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "tabane/tools/mine/bgv/ciphertext.h"
#include "tabane/tools/mine/bgv/context.h"
#include "tabane/tools/mine/bgv/random.h"

namespace tabane::mine::bgv {

// A ternary polynomial s. Its memory is wiped when it goes; it is never copied.
class SecretKey {
 public:
  // throws: core::Error.
  static SecretKey generate(const SharedContext& context);
  static SecretKey generate(const SharedContext& context, const Seed& seed);  // for tests
  // coefficients: N of -1, 0, 1. throws: core::UsageError.
  SecretKey(const SharedContext& context, const KeyId& id,
            std::span<const std::int8_t> coefficients);
  ~SecretKey();
  SecretKey(SecretKey&&) = default;
  SecretKey& operator=(SecretKey&&) = delete;

  const SharedContext& context() const { return context_; }
  const KeyId& id() const { return id_; }
  std::span<const std::int8_t> coefficients() const { return coefficients_; }
  // s as values modulo a prime, the special one included.
  std::span<const std::uint64_t> values(std::size_t modulus) const {
    return std::span(values_).subspan(modulus * context_->degree(), context_->degree());
  }

 private:
  SharedContext context_;
  KeyId id_;
  std::vector<std::int8_t> coefficients_;
  Words values_;
};

// (b, a) with b = t e - a s, as values modulo all primes but the special one; a comes from a seed.
struct PublicKey {
  KeyId id{};
  Seed seed{};  // of a
  Words b;      // [prime][N]
  Words a;

  static PublicKey generate(const SecretKey& secret);
  static PublicKey generate(const SecretKey& secret, const Seed& randomness);  // for tests
};

// Leads from one secret to s: for each prime q_i a pair (b, a) with b = t e - a s + P g_i secret,
// where g_i is 1 modulo q_i and 0 modulo the other primes. Source: the hybrid key switching of
// Kim, Polyakov and Zucca, ia.cr/2021/204, with a digit for each prime.
struct KeySwitchKey {
  Seed seed{};  // of all a
  Words b;      // [digit][modulus][N], the special prime last
  Words a;
};

// What the server needs beside ciphertexts; made with the special prime.
struct EvaluationKeys {
  KeyId id{};
  std::optional<KeySwitchKey> relinearisation;      // from s^2
  std::map<std::uint64_t, KeySwitchKey> rotations;  // from s(X^g), by g

  struct Which {
    bool relinearisation = true;
    bool rotations = false;  // by powers of two, and of the rows: all that sum_slots() takes
  };
  // throws: core::UsageError if the parameters have no special prime.
  static EvaluationKeys generate(const SecretKey& secret, const Which& which);
  static EvaluationKeys generate(const SecretKey& secret, const Which& which,
                                 const Seed& randomness);  // for tests
};

// The automorphism X -> X^g that rotates both rows of slots to the left by `steps`; the one that
// exchanges them.
std::uint64_t rotation_exponent(std::size_t degree, std::size_t steps);
inline std::uint64_t exchange_exponent(std::size_t degree) { return 2 * degree - 1; }

// Fills a from a seed, modulus by modulus (`moduli` of the context from its first), `digits` times.
void expand(const Context& context, const Seed& seed, std::size_t digits, std::size_t moduli,
            std::span<std::uint64_t> a);

}  // namespace tabane::mine::bgv
