// The manifest's harness as libFuzzer calls it.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tabane/tools/encrypt/manifest_fuzz_test.h"

namespace {

// One entry of each kind.
std::vector<std::byte> whole_manifest() {
  using namespace tabane::encrypt;
  std::vector<std::byte> bytes;
  ManifestWriter writer({}, [&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  });
  writer.add({});
  writer.add({.kind = EntryKind::directory, .path = "a"});
  writer.add({.kind = EntryKind::file, .path = "a/b"});
  writer.add({.kind = EntryKind::link, .path = "c", .target = "a"});
  writer.finish();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tabane::encrypt::fuzz_manifest(std::as_bytes(std::span(data, size)));
  return 0;
}

// Chance alone takes long to find a whole manifest, of which some inputs are made.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  static const std::vector<std::byte> whole = whole_manifest();
  if (seed % 16 == 0 && most >= whole.size()) {
    size = whole.size();
    std::ranges::copy(whole, reinterpret_cast<std::byte*>(data));
  }
  return LLVMFuzzerMutate(data, size, most);
}
