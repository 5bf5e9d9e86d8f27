// Which keys a job works with: those of the tree that it writes or reads.
#pragma once

#include <vector>

#include "tabane/tools/encrypt/key_ring.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_keys.h"

namespace tabane::encrypt {

// Returns a ring of what the request was given to open with: its passphrase, or else its key, and
// its identities. The request must live as long as the ring.
KeyRing ring_of(const Request& request, const Hooks& hooks = {});

// What a job of encryption seals with: the keys of a tree that was not there before, for those whom
// the request names. throws, all: core::Error if the keys are not those of what is in OUT;
// core::UsageError if the request has a recipient that OUT has not; core::SystemError; Stopped.
TreeSeal seal_of_new_tree(const Request& request, KeyRing& keys);
// To resume a single file, those of the one in OUT, if it is sealed. written: has its name.
TreeSeal seal_for_file(const Request& request, const Tree& written, int out_root, KeyRing& keys);
// To resume a tree, that tree's key and slots, but only if the request's key file or passphrase
// opens it: anybody who knows a recipient can make a slot for it, with a key that is not secret.
// The slots are in .tabane/keys when this returns, so that a job that is killed can be gone on
// with.
TreeSeal seal_for_tree(const Request& request, const Tree& in, int out_root, KeyRing& keys);

// Lets the ring try .tabane/keys of a tree that is read first. What is wrong with that file is a
// failure; the files open by their own slots then. has_manifest: it is missing, or of another tree,
// if the manifest says so.
// throws: as KeyRing::stretched().
void use_keys_file(const Tree& found, int root, bool has_manifest, KeyRing& keys,
                   std::vector<Failure>& failures);

}  // namespace tabane::encrypt
