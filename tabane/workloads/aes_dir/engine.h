// Which library computes AES.
#pragma once

namespace tabane::workloads::aes_dir {

enum class Engine {
  automatic,  // ipsec_mb where it is built in and the processor has AES instructions, else openssl
  openssl,
  ipsec_mb,  // intel-ipsec-mb: several independent streams share one core's AES pipelines
};

bool ipsec_mb_available();

// Replaces automatic by what it means here. throws: core::UsageError for ipsec_mb where it is not.
Engine resolve(Engine engine);

}  // namespace tabane::workloads::aes_dir
