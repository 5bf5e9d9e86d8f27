// What computes AES.
#pragma once

namespace tabane::core {
struct VectorRegisters;
}

namespace tabane::crypto {

enum class Engine {
  automatic,  // ipsec_mb where it is built in and may_use_ipsec_mb(), else openssl
  openssl,
  ipsec_mb,  // intel-ipsec-mb: several independent streams share one core's AES pipelines
  opencl,    // a coprocessor, which only encrypts files; never chosen by itself
};

// Whether the library chooses only instructions that run here: it asks CPUID which vector registers
// there are and not the system which of them it has enabled.
bool may_use_ipsec_mb(const core::VectorRegisters& registers);

// It is built in, may be used, has AES instructions, and has passed its self-test.
bool ipsec_mb_available();

// Replaces automatic by what it means here. throws: core::UsageError for ipsec_mb where it is not.
Engine resolve(Engine engine);

// The one that does on the CPU what a coprocessor does not do; others are resolved.
Engine cpu_engine(Engine engine);

}  // namespace tabane::crypto
