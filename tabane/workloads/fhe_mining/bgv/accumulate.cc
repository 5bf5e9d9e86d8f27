#include "tabane/workloads/fhe_mining/bgv/accumulate.h"

namespace tabane::workloads::fhe_mining::bgv {

void accumulate(std::span<const Factors> factors, std::size_t first, std::size_t last,
                const Sums& sums) {
  accumulate_reference(factors, first, last, sums);
}

void accumulate(const std::uint64_t* a, std::size_t n, std::int64_t* low) {
  for (std::size_t i = 0; i < n; ++i) low[i] += static_cast<std::int64_t>(a[i]);
}

void reduce_sums(const Modulus& modulus, const std::uint64_t* high, const std::int64_t* low,
                 std::size_t n, std::uint64_t* out) {
  const std::uint64_t weight = modulus.reduce(std::uint64_t{1} << kLowBits);
  const std::uint64_t prepared = modulus.prepare(weight);
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = modulus.add(modulus.multiply_prepared(high[i], weight, prepared),
                         modulus.reduce_signed(low[i]));
  }
}

}  // namespace tabane::workloads::fhe_mining::bgv
