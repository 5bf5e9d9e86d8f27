// The sizes of the scheme, chosen by the noise model and checked against the security table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tabane::mine::bgv {

// What a computation needs.
struct Need {
  int depth = 1;                                  // multiplications on top of each other
  std::uint64_t least_plaintext_modulus = 65537;  // t becomes the least suitable prime from here on
  std::uint64_t values = 1;     // that one sum goes over; N of them lie in a ciphertext
  bool sum_slots = false;       // rotations add up the slots, so that only totals are decrypted
  std::size_t degree = 0;       // 0: the least that suffices
  bool allow_insecure = false;  // a degree below the security table's, marked as such
};

// What parameters consist of.
struct ParameterValues {
  std::size_t degree = 0;               // N, a power of two from 32 to 32768
  std::uint64_t plaintext_modulus = 0;  // t, a prime = 1 modulo 2 N
  std::vector<std::uint64_t> primes;  // q_1 … q_k = 1 modulo 2 N and t; the last is dropped first
  std::uint64_t special_prime = 0;    // of key switching, of the same kind; 0: no evaluation keys
  bool allow_insecure = false;
};

// Immutable; every object of this class has passed all checks.
class Parameters {
 public:
  // Takes the least degree, then the fewest and then the largest primes for which the noise of this
  // computation fits and security is 128 bits. throws: core::UsageError saying what would help, if
  // there are none.
  static Parameters choose(const Need& need);

  // throws: core::UsageError naming the value that is wrong; if it is security alone, the option
  // that allows it.
  explicit Parameters(ParameterValues values);

  std::size_t degree() const { return values_.degree; }
  std::size_t slots() const { return values_.degree; }
  std::uint64_t plaintext_modulus() const { return values_.plaintext_modulus; }
  const std::vector<std::uint64_t>& primes() const { return values_.primes; }
  std::uint64_t special_prime() const { return values_.special_prime; }
  bool has_special_prime() const { return values_.special_prime != 0; }

  double modulus_bits() const;  // log2 of the product of all primes, the special one included
  bool secure() const;          // by the security table, 128 bits

  // "N = 4096, t = 65537, 2 primes, 99.9 bits (128-bit security needs at most 106)"; insecure ones
  // end in "INSECURE".
  std::string text() const;

  friend bool operator==(const Parameters& a, const Parameters& b) {
    return a.values_.degree == b.values_.degree &&
           a.values_.plaintext_modulus == b.values_.plaintext_modulus &&
           a.values_.primes == b.values_.primes &&
           a.values_.special_prime == b.values_.special_prime;
  }

 private:
  ParameterValues values_;
};

// The deviation (noise.h) of a computation's result with these parameters: fresh ciphertexts under
// the public key, each multiplication but the last followed by relinearisation and the loss of a
// prime, sums over all blocks and, if wanted, over slots. Returns the bits that are left in the
// modulus; below 0: it does not fit.
double spare_bits(const Parameters& parameters, const Need& need);

}  // namespace tabane::mine::bgv
