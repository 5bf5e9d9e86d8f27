// Symmetric residues of many doubles that are integers of less than 2^53.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tabane::matmul {

struct Modulus {
  double p, inverse;
};

// to[i] := the residue of from[i] + added[i]; added may be to, or null for nothing. A residue is at
// most p / 2 + 2 in magnitude: the quotient is rounded from a product that is rounded itself.
void reduce(const double* from, const double* added, double* to, std::size_t n,
            const Modulus& modulus);
// The same as 32-bit integers. accumulate: what stands there is added.
void reduce(const double* from, std::int32_t* to, std::size_t n, const Modulus& modulus,
            bool accumulate);

// Of a complex product: re and im from the three real products re re, im im and
// (re + im) (re + im).
void reduce_complex(const double* re_re, const double* im_im, const double* both, std::int32_t* re,
                    std::int32_t* im, std::size_t n, const Modulus& modulus, bool accumulate);

// to[i] := from[i].
void widen(const std::int32_t* from, double* to, std::size_t n);

}  // namespace tabane::matmul
