#include "tabane/tools/encrypt/manifest_compare.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tabane::encrypt {

namespace {

struct Words {
  std::string_view name, text;
};
// In the order of the kinds.
constexpr Words kWords[] = {
    {"missing", "is missing"},
    {"added", "was added: the manifest does not have it"},
    {"other-kind", "was replaced by something of another kind"},
    {"renamed", "was renamed: it is"},
    {"exchanged", "was exchanged: it is"},
    {"rolled-back",
     "was rolled back: it is a sealed file of this tree, but not in the state that "
     "the manifest has"},
    {"changed", "was changed: its size or its last tag is not that of the manifest"}};
static_assert(std::size(kWords) == static_cast<std::size_t>(Difference::changed) + 1);

// What a rank has sent and nobody knows was changed.
const Words& words_of(Difference kind) {
  return kWords[std::min(static_cast<std::size_t>(kind), std::size(kWords) - 1)];
}

}  // namespace

std::string_view name_of(Difference difference) { return words_of(difference).name; }

std::string text_of(const TreeDifference& difference) {
  const auto& [kind, path, other] = difference;
  if (kind == Difference::added && !other.empty())
    return "was added: it is a copy of '" + other + "'";
  const std::string text(words_of(kind).text);
  const bool names = kind == Difference::renamed || kind == Difference::exchanged;
  return names ? text + " '" + other + "'" : text;
}

void TreeWalk::enter(std::uint32_t directory) {
  // Returns the range of those that lie in the directory, and goes behind it.
  const auto range = [&](std::uint32_t& at, const auto& all, auto lies_in) {
    Siblings found{at, at};
    while (found.end < all.size() && all[found.end].*lies_in == directory) ++found.end;
    at = found.end;
    return found;
  };
  levels_.push_back({.directory = directory,
                     .path_bytes = path_.empty() ? 0 : path_.size() + 1,
                     .children = range(children_, tree_.directories, &TreeDirectory::parent),
                     .files = range(files_, tree_.files, &TreeFile::directory),
                     .links = range(links_, tree_.links, &TreeLink::directory)});
}

// Takes the first of the directory's entries that are left; returns false if there is none.
bool TreeWalk::step() {
  Level& level = levels_.back();
  const char* first = nullptr;
  Siblings* from = nullptr;
  const auto consider = [&](Siblings& range, EntryKind kind, const auto& entries) {
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
  path_.resize(level.path_bytes);
  if (!path_.empty()) path_.back() = '/';
  path_ += first;
  return true;
}

bool TreeWalk::next() {
  if (!std::exchange(any_, true)) {
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
