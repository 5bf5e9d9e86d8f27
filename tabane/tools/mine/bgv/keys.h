// Plaintexts, ciphertexts, keys, and the random numbers that they are made with. A SecretKey stays
// with whoever owns the data; the other keys are public.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "tabane/crypto/openssl.h"
#include "tabane/tools/mine/bgv/modulus.h"
#include "tabane/tools/mine/bgv/parameters.h"

namespace tabane::mine::bgv {

// ---- plaintexts and ciphertexts ----

// A random number that tells key pairs apart: what was made with one fits only its own.
using KeyId = std::array<std::uint8_t, 16>;

// Determines a stream of random bytes.
using Seed = std::array<std::uint8_t, 32>;

// Coefficients modulo t of a polynomial of degree below N.
struct Plaintext {
  Words coefficients;
};

// Components c0, c1 and, after a multiplication, c2, each as values (ntt.h) modulo some of the
// primes. Does not own the words, which are [component][prime][N].
struct CiphertextView {
  const std::uint64_t* words = nullptr;
  std::size_t degree = 0, components = 0, primes = 0;
  double deviation = 0;  // as NoiseModel estimates it
  KeyId key{};

  std::span<const std::uint64_t> residues(std::size_t component, std::size_t prime) const {
    return {words + (component * primes + prime) * degree, degree};
  }
};

class Ciphertext {
 public:
  Ciphertext() = default;
  // The words have no values yet.
  Ciphertext(std::size_t degree, std::size_t components, std::size_t primes)
      : degree_(degree),
        components_(components),
        primes_(primes),
        words_(size_of(degree, components, primes)) {}

  std::size_t degree() const { return degree_; }
  std::size_t components() const { return components_; }
  std::size_t primes() const { return primes_; }
  std::span<std::uint64_t> words() { return words_; }
  std::span<const std::uint64_t> words() const { return words_; }
  std::span<std::uint64_t> residues(std::size_t component, std::size_t prime) {
    return std::span(words_).subspan((component * primes_ + prime) * degree_, degree_);
  }
  std::span<const std::uint64_t> residues(std::size_t component, std::size_t prime) const {
    return std::span(words_).subspan((component * primes_ + prime) * degree_, degree_);
  }

  operator CiphertextView() const {
    return {words_.data(), degree_, components_, primes_, deviation, key};
  }

  // For results of a team's tasks, and for files; the seed is left out.
  auto fields() { return std::tie(degree_, components_, primes_, words_, deviation, key); }

  // Returns the number of words.
  static std::size_t size_of(std::size_t degree, std::size_t components, std::size_t primes) {
    return degree * components * primes;
  }

  double deviation = 0;
  KeyId key{};
  // The seed that c1 expands from, so that a file need not hold c1: only fresh ciphertexts under
  // the secret key have one.
  std::optional<Seed> seed;

 private:
  std::size_t degree_ = 0, components_ = 0, primes_ = 0;
  Words words_;
};

// ---- random numbers ----

// Comes from OpenSSL's generator, which is safe in threads and after a fork. throws: core::Error.
KeyId fresh_key_id();

// AES-256 in counter mode: its bytes depend on the seed alone. Wiped at the end. One thread at a
// time.
class RandomStream {
 public:
  explicit RandomStream(const Seed& seed);  // throws: core::Error
  // Returns one whose seed comes from OpenSSL's generator, as fresh_key_id().
  static RandomStream fresh();

  void fill(std::span<std::uint8_t> bytes);
  Seed seed();  // of another stream

 private:
  crypto::CipherContext cipher_{EVP_CIPHER_CTX_new()};
};

// Draws numbers uniformly from [0, modulus): words of the stream, little-endian, cut to the
// modulus's bits, without those that are too large. Files of format version 1 depend on it.
void draw_uniform(RandomStream& random, const Modulus& modulus, std::span<std::uint64_t> values);

// Draws numbers uniformly from {-1, 0, 1}.
void draw_ternary(RandomStream& random, std::span<std::int8_t> values);

// Draws differences of the numbers of ones in 21 and 21 bits: variance 10.5, deviation 3.24.
void draw_errors(RandomStream& random, std::span<std::int8_t> values);

// ---- keys ----

// A ternary polynomial s: it stays with whoever owns the data. Never copied; its memory is wiped at
// the end.
class SecretKey {
 public:
  // throws: core::Error.
  static SecretKey generate(const SharedContext& context, const KeyId& id = fresh_key_id(),
                            RandomStream random = RandomStream::fresh());
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

// Turns a component under another secret into components under s: for each prime q_i a pair (b, a)
// with b = t e - a s + P g_i secret, where g_i is 1 modulo q_i and 0 modulo the other primes.
// Source: the hybrid key switching of Kim, Polyakov and Zucca, ia.cr/2021/204, with a digit for
// each prime.
struct KeySwitchKey {
  Seed seed{};  // of all a
  Words b;      // [digit][modulus][N], the special prime last
  Words a;

  auto fields() { return std::tie(seed, b); }  // of files; a follows from the seed
};

// The keys that the server needs in addition to ciphertexts; made with the special prime.
struct EvaluationKeys {
  KeyId id{};
  std::optional<KeySwitchKey> relinearisation;      // from s^2
  std::map<std::uint64_t, KeySwitchKey> rotations;  // from s(X^g), by g

  auto fields() { return std::tie(id, relinearisation, rotations); }

  // rotations: whether to make all that sum_slots() needs: those by powers of two, and of the rows.
  // throws: core::UsageError if the parameters have no special prime.
  static EvaluationKeys generate(const SecretKey& secret, bool rotations,
                                 RandomStream random = RandomStream::fresh());
};

// Return g of the automorphism X -> X^g that rotates both rows of slots to the left by `steps`, and
// of the one that exchanges the rows.
std::uint64_t rotation_exponent(std::size_t degree, std::size_t steps);
inline std::uint64_t exchange_exponent(std::size_t degree) { return 2 * degree - 1; }

// Fills `a` from a seed, modulus by modulus (the context's first `moduli`), `digits` times.
void expand(const Context& context, const Seed& seed, std::size_t digits, std::size_t moduli,
            std::span<std::uint64_t> a);

// ---- what comes from a file of others, and may hold anything ----

// Whether these are residues [part][N], of which part i is modulo the context's modulus i % moduli.
bool are_residues(const Context& context, std::size_t moduli, ConstResidues words);

// Whether a ciphertext is one of these parameters.
bool is_valid(const Context& context, const Ciphertext& ciphertext);

// Expands all `a`. Returns false if the keys are none of these parameters.
bool complete(const Context& context, EvaluationKeys& keys);

}  // namespace tabane::mine::bgv
