// What whoever runs a test by hand may set: how long, and with which seed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace tabane::comm {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, which sets nothing
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

}  // namespace tabane::comm
