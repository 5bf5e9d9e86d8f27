// The libraries that compute AES, and which of them are usable here.
#pragma once

#include <memory>

struct IMB_MGR;

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

// Whether intel-ipsec-mb chooses only instructions that run here: it asks CPUID which vector
// registers exist, not the system which of them it has enabled.
bool may_use_ipsec_mb(const core::VectorRegisters& registers);

// Whether it is built in, may be used, finds AES instructions, and passes its self-test.
bool ipsec_mb_available();

// Replaces automatic by what it means here. throws: core::UsageError for ipsec_mb where it is not.
Engine resolve(Engine engine);

// Returns the engine for what a coprocessor does not do; engines of the CPU are resolved.
Engine cpu_engine(Engine engine);

// The manager object of intel-ipsec-mb; wiped at the end.
struct ManagerFree {
  void operator()(IMB_MGR* manager) const;
};
using Manager = std::unique_ptr<IMB_MGR, ManagerFree>;

// Makes a manager for this processor; defined only where the library is built in. One thread at a
// time. Returns null unless ipsec_mb_available().
Manager make_manager();

}  // namespace tabane::crypto
