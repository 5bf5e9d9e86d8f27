// The entries of a tree in the order of a manifest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tabane/tools/encrypt/manifest_format.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

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
  struct Range {
    std::uint32_t at = 0, end = 0;
  };
  struct Level {
    std::uint32_t directory;
    std::size_t path_bytes;  // with the '/' behind it
    Range children, files, links;
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

}  // namespace tabane::encrypt
