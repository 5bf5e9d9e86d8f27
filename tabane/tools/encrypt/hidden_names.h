// Sealed trees whose names tell nothing: one pass over the entries gives their files the names that
// they are written by, ab/cdef…, another one the files that were found the names that the manifest
// has. Between the two a job has one tree by two sets of names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/manifest_format.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/selection.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_keys.h"

namespace tabane::encrypt {

using StoredName = std::array<std::byte, kStoredNameBytes>;

// Whoever has not the tree's key cannot tell it from random bytes; who has it finds the same one
// for a path again. throws: core::Error if the crypto library fails.
StoredName stored_name_of(const TreeKey& key, const TreeId& tree, std::string_view path);

// "ab/" and 30 hexadecimal digits.
std::string text_of_stored(const StoredName& name);

// Of the files of a plain tree, by their indices; all 0: not known yet.
using StoredNames = std::vector<StoredName>;

// Finds those that are not known yet, in so many threads. cost: an HKDF each.
void complete(StoredNames& names, const Tree& plain, const TreeSeal& seal, unsigned threads);

// What OUT has, and the plain tree does not have any more.
struct Stray {
  std::string path;  // in the sealed tree
  bool directory;
  bool of_stranger = false;  // a file that is not sealed with the tree's key
  std::string plain = {};    // its path in the plain tree, if that is another one and is known
};

// How a sealed tree that is written calls its files: as the plain tree does, or by names that tell
// nothing, as the job is asked to or as the tree that it goes on with does.
class OutputNames {
 public:
  // Decides which, and marks OUT, but not in a dry run. out: the root. home: its directory .tabane.
  // old: the manifest that is there; null: none. throws: core::Error if the mark contradicts it;
  // core::UsageError if the request does; core::SystemError.
  OutputNames(const Request& request, const Tree& plain, int out, int home,
              const TreeManifest* old);

  // Keeps the name that a manifest has for a file; forgets all that were kept.
  void keep(std::uint32_t file, const ManifestEntry& listed) {
    if (hides_) names_[file] = listed.stored_name;
  }
  void forget() { names_.assign(hides_ ? plain_.files.size() : 0, {}); }
  // Fills in what the tree is written as; finds the names that were not kept, in so many threads.
  void complete(Trees& trees, const TreeSeal& seal, unsigned threads);

  // After complete(): has the manifest say what a file is called.
  void tell(ManifestHead& head) const { head.hidden_names = hides_; }
  void tell(std::uint32_t file, ManifestEntry& entry) const {
    if (hides_) entry.stored_name = names_[file];
  }

  // What there may be in OUT of an entry that the plain tree does not have any more.
  std::optional<Stray> place_of(const ManifestEntry& gone) const;
  // After complete(): what a scan of OUT has found and the plain tree does not have, in the order
  // of a walk, directories before what lies in them.
  std::vector<Stray> strays(const Tree& found) const;

 private:
  const Tree& plain_;
  bool hides_ = false;
  StoredNames names_;  // if it does
};

// Of a sealed tree that is read:

// Gives what a scan has found the names of the manifest, if that hides them: `trees` are then the
// plain tree, as a scan gives it but for links, and the same files as they are read. Files have the
// size of their sealed ones; those that are not there are left out, as is what `selection` does not
// take. What no entry names is a difference. throws: as TreeManifest::for_each().
void unhide(TreeManifest& manifest, const Selection& selection, int root, Trees& trees);

// The mark lets a job that lost the manifest go on. If names are hidden, removes it from
// `strangers`, or notes that it is missing.
void hold_mark_against(TreeManifest& manifest, std::vector<std::string>& strangers);

}  // namespace tabane::encrypt
