// The manifest's harness as libFuzzer calls it.
#include <cstdint>

#include "tabane/tools/encrypt/manifest_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tabane::encrypt::fuzz_manifest(std::as_bytes(std::span(data, size)));
  return 0;
}
