// Changes whom a sealed tree is for, without touching a file of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/tools/encrypt/key_ring.h"

namespace tabane::encrypt {

// Whom a tree is for, beside those that are kept. At least one.
struct NewOpeners {
  std::optional<MasterKey> key;  // of a key file
  crypto::Passphrase passphrase;
  std::vector<Recipient> recipients;
  bool keeps = false;  // whom the tree is for now; a new passphrase takes the place of the old one
  int passphrase_log2_n = crypto::kPassphraseLog2N;  // less is for tests
};

// Opens the tree's key by one of the ring's keys and writes .tabane/keys anew, so that the file is
// the old or the new one at any moment, and on the disk when this returns. Returns whom the tree is
// for now, in words. It does not take a file from somebody who could open it before: its own slots
// stay as they are, and so does the tree's key.
// throws: core::UsageError if nobody is named, the tree is no directory or another job writes
// there; core::Error if the tree has no manifest or file of keys, or one of keys that is none, or
// was changed and is to be kept, or whose key does not fit the manifest and every sealed file;
// WrongKey; core::SystemError; as KeyRing::stretched(). cost: reads the header of each file.
std::string rekey(
    const std::string& tree, KeyRing& keys, const NewOpeners& openers,
    const std::function<bool()>& stop_requested = [] { return false; });

// Whom the tree is for, in words, as its .tabane/keys says; anybody can ask, and nothing shows that
// it is true.
// throws: as rekey(), but for the keys.
std::string openers_of(const std::string& tree);

// As openers_of(), of a tree that opens for recipients and for nobody else; otherwise empty.
std::string recipients_alone(const std::string& tree);

}  // namespace tabane::encrypt
