#include "tabane/tools/encrypt/manifest_compare.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tabane::encrypt {

std::string_view name_of(Difference difference) {
  switch (difference) {
    case Difference::missing:
      return "missing";
    case Difference::added:
      return "added";
    case Difference::other_kind:
      return "other-kind";
    case Difference::renamed:
      return "renamed";
    case Difference::exchanged:
      return "exchanged";
    case Difference::rolled_back:
      return "rolled-back";
    case Difference::changed:
      break;
  }
  return "changed";
}

std::string text_of(const TreeDifference& difference) {
  switch (difference.kind) {
    case Difference::missing:
      return "is missing";
    case Difference::added:
      return difference.other.empty() ? "was added: the manifest does not have it"
                                      : "was added: it is a copy of '" + difference.other + "'";
    case Difference::other_kind:
      return "was replaced by something of another kind";
    case Difference::renamed:
      return "was renamed: it is '" + difference.other + "'";
    case Difference::exchanged:
      return "was exchanged: it is '" + difference.other + "'";
    case Difference::rolled_back:
      return "was rolled back: it is a sealed file of this tree, but not in the state that the "
             "manifest has";
    case Difference::changed:
      break;
  }
  return "was changed: its size or its last tag is not that of the manifest";
}

void merge(ManifestReader& manifest, const Tree& tree,
           const std::function<void(const ManifestEntry*, const TreeWalk*)>& each) {
  ManifestEntry entry;
  TreeWalk walk(tree);
  bool listed = manifest.next(entry), found = walk.next();
  while (listed || found) {
    const int order = !listed ? 1 : !found ? -1 : compare_paths(entry.path, walk.path());
    each(order <= 0 ? &entry : nullptr, order >= 0 ? &walk : nullptr);
    if (order <= 0) listed = manifest.next(entry);
    if (order >= 0) found = walk.next();
  }
}

// Salts are random numbers; a stranger who chooses them makes his own differences slow.
std::size_t DifferenceFinder::SaltHash::operator()(const Salt& salt) const {
  std::size_t hash = 0;
  std::memcpy(&hash, salt.data(), sizeof hash);
  return hash;
}

void DifferenceFinder::add(Difference kind, const std::string& path,
                           const std::optional<Salt>& salt) {
  const std::size_t index = differences_.size();
  differences_.push_back({kind, path, {}});
  if (kind == Difference::missing) missing_.emplace(path, index);
  if (salt && kind != Difference::changed) strays_.emplace(*salt, index);
}

bool DifferenceFinder::has(const std::string& path) const {
  return std::ranges::find(differences_, path, &TreeDifference::path) != differences_.end();
}

void DifferenceFinder::look_up(const ManifestEntry& entry) {
  if (entry.kind != EntryKind::file) return;
  const auto [first, last] = strays_.equal_range(entry.sealed.salt);
  TreeDifference* new_place = nullptr;  // the first of those at a place that the manifest lacks
  for (auto stray = first; stray != last; ++stray) {
    TreeDifference& here = differences_[stray->second];
    here.other = entry.path;
    if (here.kind == Difference::rolled_back) here.kind = Difference::exchanged;
    if (here.kind != Difference::added) continue;
    if (new_place == nullptr || compare_paths(here.path, new_place->path) < 0) new_place = &here;
  }
  const auto gone = missing_.find(entry.path);
  if (new_place == nullptr || gone == missing_.end()) return;
  new_place->kind = Difference::renamed;
  differences_[gone->second].path.clear();  // explained
  missing_.erase(gone);
}

std::vector<TreeDifference> DifferenceFinder::take() {
  std::erase_if(differences_, [](const TreeDifference& difference) {
    return difference.kind == Difference::missing && difference.path.empty();
  });
  std::ranges::stable_sort(differences_, [](const TreeDifference& a, const TreeDifference& b) {
    return compare_paths(a.path, b.path) < 0;
  });
  const auto said_already = std::ranges::unique(differences_, {}, &TreeDifference::path);
  differences_.erase(said_already.begin(), said_already.end());
  strays_.clear();
  missing_.clear();
  return std::move(differences_);
}

}  // namespace tabane::encrypt
