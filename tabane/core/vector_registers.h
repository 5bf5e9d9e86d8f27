// Whether programs may use the wide vector registers: the processor must have them, and the system
// must have agreed to save them whenever it switches tasks. Where it has not (Linux with "noxsave",
// some virtual machines), CPUID still announces AVX, and the first such instruction ends the
// program with SIGILL.
#pragma once

#include <cstdint>
#include <string>

namespace tabane::core {

// What an x86-64 processor says; all 0 elsewhere.
struct ProcessorBits {
  std::uint32_t leaf1_ecx = 0;  // CPUID 1: OSXSAVE, AVX
  std::uint32_t leaf7_ebx = 0;  // CPUID 7.0: AVX2, AVX-512
  std::uint64_t xcr0 = 0;       // XGETBV 0, the states that the system saves; 0 without OSXSAVE
};

ProcessorBits read_processor_bits();

struct VectorRegisters {
  bool has_avx = false, has_avx512 = false;          // in the processor
  bool avx_enabled = false, avx512_enabled = false;  // and the system saves their registers

  // The processor announces instructions that the system has not enabled.
  bool some_disabled() const { return has_avx != avx_enabled || has_avx512 != avx512_enabled; }
  // Their names: "AVX", "AVX-512", "AVX, AVX-512", or empty.
  std::string disabled() const;
};

// Source: Intel, Software Developer's Manual, volume 1, 14.3 (AVX) and 15.2 (AVX-512).
VectorRegisters vector_registers(const ProcessorBits& bits);

// Those of this machine, read once.
const VectorRegisters& vector_registers();

}  // namespace tabane::core
