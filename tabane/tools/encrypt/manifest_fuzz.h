// Reads any bytes as the plaintext of a manifest and checks what must always hold.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tabane::encrypt {

// Returns what was refused, or an empty text for a manifest. Ends the process if the
// reader tells an offset behind them or accepts what the writer would not have written.
std::string fuzz_manifest(std::span<const std::byte> plain);

}  // namespace tabane::encrypt
