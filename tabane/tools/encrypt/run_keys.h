// Which keys a job works with: those of the tree that it writes or reads.
#pragma once

#include <vector>

#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/places.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree_keys.h"

namespace tabane::encrypt {

// What the request was given to open with, where a passphrase goes before a key.
OpeningKeys opening_keys(const Request& request);
DerivationLimits limits_of(const Request& request);

// What a job of encryption seals with. If it goes on with a tree in OUT, that tree's key and slots,
// but only if the request's key file or passphrase opens it: anybody who knows a recipient can make
// a slot for it, with a key that is not secret. Otherwise a new tree's. In a directory the slots
// are in .tabane/keys when this returns, so that a job that is killed can be gone on with.
// throws: core::Error if the keys are not those of what is in OUT; core::UsageError if the request
// has a recipient that OUT has not; core::SystemError; Stopped.
TreeSeal prepare_seal(const Request& request, const Places& places, int out_root, KeyRing& keys);

// Lets the ring try .tabane/keys of a tree that is read first. What is wrong with that file is a
// failure; the files open by their own slots then. has_manifest: it is missing, or of another tree,
// if the manifest says so.
// throws: as KeyRing::stretched().
void use_keys_file(const Places& places, bool has_manifest, KeyRing& keys,
                   std::vector<Failure>& failures);

}  // namespace tabane::encrypt
