// Reads any bytes as a sealed file, with every engine there is, and checks what must always hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/crypto/bytes_test.h"
#include "tabane/crypto/chunk_cipher.h"
#include "tabane/tools/encrypt/key_slots.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {
inline void check_chunk_comes_back(crypto::ChunkCipher& cipher, std::uint32_t index, bool last,
                                   const crypto::Bytes& plain) {
  const crypto::Bytes sealed = crypto::seal_chunk(cipher, index, last, plain);
  crypto::Bytes again(plain.size());
  TABANE_ASSERT(cipher.open(index, last, sealed, again));
  TABANE_ASSERT(again == plain);
  TABANE_ASSERT(!cipher.open(index, !last, sealed, again));
}

// Returns whether all chunks open.
inline bool open_chunks(crypto::ChunkCipher& cipher, std::span<const std::byte> body,
                        std::size_t chunk_bytes) {
  bool good = true;
  for (std::uint32_t index = 0; !body.empty(); ++index) {
    const std::size_t here = std::min(body.size(), chunk_bytes + crypto::kTagBytes);
    const bool last = here == body.size();
    const crypto::Bytes sealed(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(here));
    body = body.subspan(here);
    crypto::Bytes plain(here - crypto::kTagBytes, std::byte{0xEE});
    if (cipher.open(index, last, sealed, plain)) {
      TABANE_ASSERT(crypto::seal_chunk(cipher, index, last, plain) == sealed);
    } else {
      good = false;
      TABANE_ASSERT(std::ranges::all_of(plain, [](std::byte b) { return b == std::byte{0}; }));
    }
    check_chunk_comes_back(cipher, index, last, plain);
  }
  return good;
}

inline bool open_with_every_engine(const FileKeys& keys, std::span<const std::byte> body,
                                   std::size_t chunk_bytes) {
  static crypto::ChunkCipher reference(crypto::Engine::openssl),
      automatic(crypto::Engine::automatic);
  reference.set_key(keys.key.bytes());
  automatic.set_key(keys.key.bytes());
  const bool good = open_chunks(reference, body, chunk_bytes);
  TABANE_ASSERT(open_chunks(automatic, body, chunk_bytes) == good);
  return good;
}

// The key of the harness: bytes 0, 1, 2 …
inline MasterKey fuzz_key() {
  MasterKey key;
  for (std::size_t i = 0; i < kMasterKeyBytes; ++i) key.bytes()[i] = static_cast<std::byte>(i);
  return key;
}

// The slots of a tree. Returns whether they can be read as such.
inline bool fuzz_slots(std::span<const std::byte> bytes) {
  static const MasterKey master = fuzz_key();
  constexpr std::uint64_t kAt = 100;
  const FoundSlots found = find_slots(bytes, kAt);
  TABANE_ASSERT(found.slots.size() <= kMostSlots && !describe(found.slots).empty());
  std::vector<Slot> slots;
  try {
    slots = decode_slots(bytes, kAt);
  } catch (const DamageError& error) {
    TABANE_ASSERT(error.offset() >= kAt && error.offset() <= kAt + bytes.size());
    return false;
  }
  TABANE_ASSERT(encode_slots(slots) == crypto::Bytes(bytes.begin(), bytes.end()));
  TABANE_ASSERT(found.slots == slots && found.unreadable.empty());
  const crypto::X25519Public own = crypto::x25519_public(master);
  for (const Slot& slot : slots) {
    // What a slot opens to is not asked: its key may have been made by the harness.
    const bool pair = slot.kind == SlotKind::x25519;
    if (pair) open_slot(slot, {}, master, own);
    if (!pair) open_slot(slot, {}, master);
  }
  return true;
}

enum class FuzzResult { bad_header, bad_size, bad_key, bad_chunk, opened };

// Ends the process if a reader contradicts itself, a writer or the other engine. All buffers have
// exactly the size that the format gives them, so that a sanitizer sees any overread.
inline FuzzResult fuzz_sealed_file(std::span<const std::byte> sealed) {
  static const MasterKey master = fuzz_key();
  Header header;
  try {
    header = decode_header(sealed);
  } catch (const DamageError& error) {
    TABANE_ASSERT(error.offset() <= sealed.size() && error.offset() < kSlotsAt + kMostSlotsBytes);
    return FuzzResult::bad_header;
  }
  TABANE_ASSERT(header.bytes() <= sealed.size() && header_bytes(sealed) == header.bytes());
  if (header.source == KeySource::tree_key) {
    fuzz_slots(sealed.subspan(kSlotsAt, header.slots_bytes));
  }
  const FileKeys keys = derive_file_keys(header, master);
  const auto encoded = encode_header(header, keys);
  const auto given = sealed.first<kHeaderBytes>();
  TABANE_ASSERT(std::ranges::equal(std::span(encoded).first(64), given.first(64)));
  const bool fits = key_fits(given, keys);
  TABANE_ASSERT(fits == std::ranges::equal(encoded, given));
  std::uint64_t bytes = 0;
  try {
    bytes = opened_bytes(sealed.size(), header.chunk_log2, header.bytes());
  } catch (const DamageError& error) {
    TABANE_ASSERT(error.offset() <= sealed.size());
    return FuzzResult::bad_size;
  }
  TABANE_ASSERT(sealed_bytes(bytes, header.chunk_log2, header.bytes()) == sealed.size());
  const bool good =
      open_with_every_engine(keys, sealed.subspan(header.bytes()), header.chunk_bytes());
  if (!fits) return FuzzResult::bad_key;
  return good ? FuzzResult::opened : FuzzResult::bad_chunk;
}

}  // namespace tabane::encrypt
