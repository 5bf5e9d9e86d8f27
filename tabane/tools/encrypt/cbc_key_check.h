// Whether a key may be the one of files under AES-CBC, which hold nothing that tells it.
#pragma once

#include <cstddef>

#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

// Decrypts the last blocks of up to 32 files of the tree. Under the right key the padding of every
// file that was not changed is legal; under another one that of 1 of 256 is.
// throws: core::Error if it is legal in less than a quarter of those tried; naming the file if
// there is only one. What it lets pass may still be another key, the likelier the fewer files there
// are. Files that cannot be read, or whose size is not one of AES-CBC, are left to their turn.
void require_cbc_key_may_fit(const Request& request, const Tree& tree, int root);

}  // namespace tabane::encrypt
