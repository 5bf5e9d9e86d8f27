// Bytes for the tests of this folder, and where they are damaged.
#pragma once

#include <cstdint>
#include <optional>

#include "tabane/crypto/bytes_test.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {

using crypto::all_zero;
using crypto::as_text;
using crypto::Bytes;
using crypto::counting;
using crypto::engines_here;
using crypto::flip;
using crypto::from_hex;
using crypto::from_text;
using crypto::hex;
using crypto::pattern;
using crypto::random_bytes;
using crypto::seal_chunk;
using crypto::sink_into;
using crypto::source_of;
using crypto::upper;

// Returns where f finds damage; nothing if it finds none.
template <class F>
std::optional<std::uint64_t> damage_at(F&& f) {
  try {
    f();
  } catch (const DamageError& error) {
    return error.offset();
  }
  return std::nullopt;
}

}  // namespace tabane::encrypt
