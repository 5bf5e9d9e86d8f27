#include "tabane/tools/mine/bgv/security.h"

namespace tabane::mine::bgv {

std::span<const SecurityLimit> security_table() {
  static constexpr SecurityLimit kTable[] = {{1024, 26},  {2048, 53},   {4096, 106},
                                             {8192, 214}, {16384, 430}, {32768, 868}};
  return kTable;
}

int max_modulus_bits(std::size_t degree) {
  for (const SecurityLimit& limit : security_table()) {
    if (limit.degree == degree) return limit.modulus_bits;
  }
  return 0;
}

}  // namespace tabane::mine::bgv
