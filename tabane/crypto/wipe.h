// Bytes that must not stay in memory.
#pragma once

#include <cstddef>
#include <span>

namespace tabane::crypto {

// Sets bytes to 0 that are not needed any more; the compiler does not leave it out.
void wipe(std::span<std::byte> bytes) noexcept;

// The same for the stack below the caller, as far as functions of a crypto library use it: they may
// leave what they have computed there, and the stacks of threads stay after them.
void wipe_stack() noexcept;

}  // namespace tabane::crypto
