// How large a modulus may be for a degree: the table of the guidelines of 2024.
#pragma once

#include <cstddef>
#include <span>

namespace tabane::mine::bgv {

struct SecurityLimit {
  std::size_t degree = 0;
  int modulus_bits = 0;  // of the product of all primes, the special one included
};

// Ternary secrets, errors of deviation 3.2, 128 bits of classical security, degrees ascending.
// Source: Bossuat et al., Security Guidelines for Implementing Homomorphic Encryption, 2024,
// ia.cr/2024/463.
std::span<const SecurityLimit> security_table();

// The limit for a degree; 0 if the table does not have it.
int max_modulus_bits(std::size_t degree);

}  // namespace tabane::mine::bgv
