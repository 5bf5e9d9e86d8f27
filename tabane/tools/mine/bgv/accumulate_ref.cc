#include "tabane/tools/mine/bgv/accumulate.h"

namespace tabane::mine::bgv {
namespace {

__extension__ using Wide = unsigned __int128;

void add(Wide product, std::uint64_t& high, std::int64_t& low) {
  high += static_cast<std::uint64_t>(product >> kLowBits);
  low += static_cast<std::int64_t>(product & ((std::uint64_t{1} << kLowBits) - 1));
}

}  // namespace

void accumulate_reference(std::span<const Factors> factors, std::size_t first, std::size_t last,
                          const Sums& sums) {
  for (const Factors& f : factors) {
    for (std::size_t i = first; i < last; ++i) {
      add(Wide(f.a0[i]) * f.b0[i], sums.high[0][i], sums.low[0][i]);
      add(Wide(f.a0[i]) * f.b1[i] + Wide(f.a1[i]) * f.b0[i], sums.high[1][i], sums.low[1][i]);
      add(Wide(f.a1[i]) * f.b1[i], sums.high[2][i], sums.low[2][i]);
    }
  }
}

}  // namespace tabane::mine::bgv
