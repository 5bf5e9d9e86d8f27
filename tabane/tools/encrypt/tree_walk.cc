#include "tabane/tools/encrypt/tree_walk.h"

#include <cstring>

namespace tabane::encrypt {

void TreeWalk::enter(std::uint32_t directory) {
  // Returns the range of those that lie in the directory, and goes behind it.
  const auto range = [](std::uint32_t& at, std::size_t end, const auto& lies_here) {
    Range found{at, at};
    while (found.end < end && lies_here(found.end)) ++found.end;
    at = found.end;
    return found;
  };
  Level level{.directory = directory,
              .path_bytes = path_.empty() ? 0 : path_.size() + 1,
              .children = {},
              .files = {},
              .links = {}};
  level.children = range(children_, tree_.directories.size(),
                         [&](std::uint32_t i) { return tree_.directories[i].parent == directory; });
  level.files = range(files_, tree_.files.size(),
                      [&](std::uint32_t i) { return tree_.files[i].directory == directory; });
  level.links = range(links_, tree_.links.size(),
                      [&](std::uint32_t i) { return tree_.links[i].directory == directory; });
  levels_.push_back(level);
}

// Takes the first of the directory's entries that are left; returns false if there is none.
bool TreeWalk::step() {
  Level& level = levels_.back();
  const char* first = nullptr;
  Range* from = nullptr;
  const auto consider = [&](Range& range, EntryKind kind, const auto& entries) {
    if (range.at == range.end) return;
    const char* name = tree_.name(entries[range.at].name_at);
    if (first != nullptr && std::strcmp(name, first) >= 0) return;
    first = name;
    from = &range;
    kind_ = kind;
  };
  consider(level.files, EntryKind::file, tree_.files);
  consider(level.children, EntryKind::directory, tree_.directories);
  consider(level.links, EntryKind::link, tree_.links);
  if (from == nullptr) return false;
  index_ = from->at++;
  if (level.path_bytes > 0) {
    path_.resize(level.path_bytes - 1);
    path_ += '/';
  } else {
    path_.clear();
  }
  path_ += first;
  return true;
}

bool TreeWalk::next() {
  if (!any_) {
    any_ = true;
    enter(0);
    return true;
  }
  while (!levels_.empty()) {
    if (step()) {
      if (kind_ == EntryKind::directory) enter(index_);
      return true;
    }
    levels_.pop_back();
  }
  return false;
}

}  // namespace tabane::encrypt
