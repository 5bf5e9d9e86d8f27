// Bytes that must not stay in memory.
#pragma once

#include <cstddef>
#include <span>

namespace tabane::workloads {

// Sets bytes to 0 that are not needed any more; the compiler does not leave it out.
void wipe(std::span<std::byte> bytes) noexcept;

}  // namespace tabane::workloads
