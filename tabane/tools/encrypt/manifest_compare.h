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

using Salt = std::array<std::byte, kFileSaltBytes>;

// What there is at a path that does not fit the manifest. salt: of the sealed file that is there,
// if it could be read.
struct Misfit {
  Difference kind = Difference::missing;
  std::optional<Salt> salt = {};
};

struct TreeDifference {
  Difference kind = Difference::missing;
  std::string path;
  std::string other;  // the path that the manifest has for what lies here, if it has one

  bool operator==(const TreeDifference&) const = default;
};

// A sentence without the path: "is missing", "was renamed: it is a/b".
std::string text_of(const TreeDifference& difference);

// Visits each directory before what it holds, in the order of compare_paths(), if the tree came
// from scan(). Memory: a few words for each level of the place reached.
class TreeWalk {
 public:
  explicit TreeWalk(const Tree& tree) : tree_(tree) {}  // which lives as long as this

  // Goes to the next entry, at first to the root; returns false behind the last one.
  bool next();

  // Of the entry reached.
  EntryKind kind() const { return kind_; }
  std::uint32_t index() const { return index_; }  // in the tree's directories, files or links
  std::uint32_t directory() const { return levels_.back().directory; }  // that it is or lies in
  const std::string& path() const { return path_; }

 private:
  struct Siblings {
    std::uint32_t at = 0, end = 0;
  };
  struct Level {
    std::uint32_t directory;
    std::size_t path_bytes;  // with the '/' behind it
    Siblings children, files, links;
  };

  void enter(std::uint32_t directory);
  bool step();

  const Tree& tree_;
  // Behind those of the directories entered; they come in the order in which these are entered.
  std::uint32_t children_ = 1, files_ = 0, links_ = 0;
  std::vector<Level> levels_;
  bool any_ = false;
  EntryKind kind_ = EntryKind::directory;
  std::uint32_t index_ = 0;
  std::string path_;
};

// Goes through a manifest and a tree side by side. Calls each(listed, found) for every path that
// one of them has; null: the other one has it not. throws: DamageError of the reader; what `each`
// throws.
void merge(ManifestReader& manifest, const Tree& tree,
           const std::function<void(const ManifestEntry*, const TreeWalk*)>& each);

// Names what differences amount to. Memory: the differences.
class DifferenceFinder {
 public:
  // Notes what lies at a path, in any order. kind: missing, added, other_kind; rolled_back for
  // a file in another state than the manifest's; changed. salt: as of a Misfit.
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
