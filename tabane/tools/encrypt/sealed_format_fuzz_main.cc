// The harness of sealed files as libFuzzer calls it.
#include <cstdint>

#include "tabane/tools/encrypt/sealed_format_fuzz_test.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tabane::encrypt::fuzz_sealed_file(std::as_bytes(std::span(data, size)));
  return 0;
}
