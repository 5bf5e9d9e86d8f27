#include "tabane/core/vector_registers.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tabane::core {
namespace {

constexpr std::uint32_t kOsXsave = 1u << 27, kAvx = 1u << 28;  // of leaf1_ecx
constexpr std::uint32_t kAvx512 = 1u << 16;                    // of leaf7_ebx, the foundation
constexpr std::uint64_t kAvxStates = 0x6;                      // of xcr0: xmm, ymm
constexpr std::uint64_t kAvx512States = 0xe6;                  // and masks, zmm 0-15, zmm 16-31

bool has(std::uint64_t word, std::uint64_t all_of) { return (word & all_of) == all_of; }

}  // namespace

ProcessorBits read_processor_bits() {
  ProcessorBits bits;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) bits.leaf1_ecx = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) bits.leaf7_ebx = b;
  if (has(bits.leaf1_ecx, kOsXsave)) {
    std::uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    bits.xcr0 = static_cast<std::uint64_t>(high) << 32 | low;
  }
#endif
  return bits;
}

VectorRegisters vector_registers(const ProcessorBits& bits) {
  const bool saves = has(bits.leaf1_ecx, kOsXsave);
  VectorRegisters found;
  found.has_avx = has(bits.leaf1_ecx, kAvx);
  found.has_avx512 = has(bits.leaf7_ebx, kAvx512);
  found.avx_enabled = found.has_avx && saves && has(bits.xcr0, kAvxStates);
  found.avx512_enabled = found.has_avx512 && saves && has(bits.xcr0, kAvx512States);
  return found;
}

const VectorRegisters& vector_registers() {
  static const VectorRegisters found = vector_registers(read_processor_bits());
  return found;
}

std::string VectorRegisters::disabled() const {
  std::string names;
  if (has_avx && !avx_enabled) names = "AVX";
  if (has_avx512 && !avx512_enabled) names += names.empty() ? "AVX-512" : ", AVX-512";
  return names;
}

}  // namespace tabane::core
