// Reads any bytes as a sealed file, with every engine there is, and checks what must always hold.
#pragma once

#include <cstddef>
#include <span>

#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {

// The key of the harness: bytes 0, 1, 2 …
MasterKey fuzz_key();

enum class FuzzResult { bad_header, bad_size, bad_key, bad_chunk, opened };

// Ends the process if a reader contradicts itself, a writer or the other engine. All buffers have
// exactly the size that the format gives them, so that a sanitizer sees any overread.
FuzzResult fuzz_sealed_file(std::span<const std::byte> sealed);

// The same for the slots of a tree. Returns whether they can be read as such.
bool fuzz_slots(std::span<const std::byte> bytes);

}  // namespace tabane::encrypt
