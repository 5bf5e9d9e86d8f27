// What differs between a manifest and the sealed tree that it is of: which files were exchanged,
// renamed, added, put back in another version, or are missing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tabane/tools/encrypt/manifest_format.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

enum class Difference {
  missing,      // in the manifest, not in the tree
  added,        // in the tree, not in the manifest
  other_kind,   // a file where the manifest has a directory, or the like
  renamed,      // missing at its place, and found at this one
  exchanged,    // another file of the manifest lies here
  rolled_back,  // a file of the tree lies here in a state that the manifest does not have
  changed,      // the file that was sealed here lies here, damaged
};

// "missing", "rolled-back": for programs.
std::string_view name_of(Difference difference);

struct TreeDifference {
  Difference kind = Difference::missing;
  std::string path;
  std::string other;  // the path that the manifest has for what lies here, if it has one

  bool operator==(const TreeDifference&) const = default;
};

// A sentence without the path: "is missing", "was renamed: it is a/b".
std::string text_of(const TreeDifference& difference);

// Goes through a manifest and a tree side by side. Calls each(listed, found) for every path that
// one of them has; null: the other one has it not. throws: DamageError of the reader; what `each`
// throws.
void merge(ManifestReader& manifest, const Tree& tree,
           const std::function<void(const ManifestEntry*, const TreeWalk*)>& each);

// Names what differences amount to. Memory: the differences.
class DifferenceFinder {
 public:
  // Notes what lies at a path, in any order. kind: missing, added, other_kind; rolled_back for
  // a file in another state than the manifest's; changed. salt: of the sealed file that lies there,
  // if it could be read.
  using Salt = std::array<std::byte, kFileSaltBytes>;
  void add(Difference kind, const std::string& path, const std::optional<Salt>& salt = {});

  // Whether a difference was noted there.
  bool has(const std::string& path) const;

  // Whether the manifest is to be read once more, each entry given to look_up(): something lies
  // where it does not belong.
  bool wants_look_up() const { return !strays_.empty(); }
  void look_up(const ManifestEntry& entry);

  // Returns the first of each path in the order of the paths; to be called once.
  std::vector<TreeDifference> take();

 private:
  struct SaltHash {
    std::size_t operator()(const Salt& salt) const;
  };
  std::vector<TreeDifference> differences_;
  std::unordered_multimap<Salt, std::size_t, SaltHash> strays_;  // to their index above
  std::unordered_map<std::string, std::size_t> missing_;         // the same
};

}  // namespace tabane::encrypt
