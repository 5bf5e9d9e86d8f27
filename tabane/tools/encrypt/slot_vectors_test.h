// The slots of tabane/tools/encrypt/sealed-format.md, computed by programs of others: Python's
// hashlib and cryptography; and keys whose bytes count.
#pragma once

#include <algorithm>
#include <string>

#include "tabane/tools/encrypt/bytes_test.h"
#include "tabane/tools/encrypt/identity.h"
#include "tabane/tools/encrypt/key_slots.h"

namespace tabane::encrypt::vectors {

template <class Key>
Key counting_key(unsigned first) {
  Key key;
  std::ranges::copy(counting(key.bytes().size(), first), key.bytes().begin());
  return key;
}

inline Identity identity_of(unsigned first) {
  Identity identity;
  identity.secret = counting_key<crypto::X25519Secret>(first);
  identity.recipient = crypto::x25519_public(identity.secret);
  return identity;
}

// As messages name its recipient.
inline std::string name(unsigned first) {
  return text_of(fingerprint_of(identity_of(first).recipient));
}

inline MasterKey master() { return counting_key<MasterKey>(0); }
inline TreeKey tree_key() { return counting_key<TreeKey>(150); }
inline TreeId tree() {
  TreeId id;
  std::ranges::copy(counting(kTreeIdBytes, 50), id.begin());
  return id;
}

// Bob of RFC 7748, section 6.1; the ephemeral key is Alice's.
inline crypto::X25519Secret secret() {
  crypto::X25519Secret key;
  std::ranges::copy(from_hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"),
                    key.bytes().begin());
  return key;
}

inline const std::string kFileSlot =
    "0000400a0b0c0d0e0f1011121314151617181973496aa666ee91461a37b48b3b26d0e2c3cf00b7b4dd80359ce6d0"
    "ba0ff9777aaaf8680315f8472c7956ba7b32f3850d";
inline const std::string kPassphraseSlot =  // "a short passphrase"
    "0100430a0801c8c9cacbcccdcecfd0d1d2d3d4d5d6d70f15a1f2c4fbc0141c809917f089a1176082a19320175cc2"
    "cf64253fce440788031c2193870e6727bfcd3c5c5a4282b0";
inline const std::string kRecipientSlot =
    "0200588520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6af35e5616160a30bf7c150d"
    "6aeb5df61522884efa3f5ae08e0d96df66c859d87a7cf81740472770bba146fb0ffaed7aa25d724e5e81181b5e";

inline Bytes table_of_file() { return from_hex("0001" + kFileSlot); }
inline Bytes table_of_all() {
  return from_hex("0003" + kFileSlot + kPassphraseSlot + kRecipientSlot);
}

}  // namespace tabane::encrypt::vectors
