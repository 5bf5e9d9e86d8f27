// Reads any bytes as the plaintext of a manifest and checks what must always hold.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tabane/crypto/bytes_test.h"
#include "tabane/tools/encrypt/manifest_format.h"

namespace tabane::encrypt {
struct Reading {
  ManifestHead head;
  std::vector<ManifestEntry> entries;
  std::string refused;
};

inline Reading reading_of(std::span<const std::byte> plain) {
  std::size_t given = 0;
  const auto source = [&, next = crypto::source_of(plain)](std::span<std::byte> place) mutable {
    const std::size_t here = next(place);
    given += here;
    return here;
  };
  Reading result;
  try {
    ManifestReader reader(source);
    result.head = reader.head();
    ManifestEntry entry;
    while (reader.next(entry)) result.entries.push_back(entry);
    TABANE_ASSERT(given == plain.size() && reader.entries() == result.entries.size());
  } catch (const DamageError& error) {
    TABANE_ASSERT(error.offset() <= plain.size());
    result.refused = error.what();
  }
  return result;
}

inline crypto::Bytes write(const Reading& reading) {
  crypto::Bytes plain;
  ManifestWriter writer(reading.head, crypto::sink_into(plain));
  for (const ManifestEntry& entry : reading.entries) writer.add(entry);
  writer.finish();
  return plain;
}

// Returns what was refused, or an empty text for a manifest. Ends the process if the
// reader tells an offset behind them or accepts what the writer would not have written.
inline std::string fuzz_manifest(std::span<const std::byte> plain) {
  // An exact copy, so that a sanitizer sees any overread.
  const crypto::Bytes bytes(plain.begin(), plain.end());
  const Reading reading = reading_of(bytes);
  if (reading.refused.empty()) TABANE_ASSERT(write(reading) == bytes);
  return reading.refused;
}

}  // namespace tabane::encrypt
