#include "tabane/tools/encrypt/strays.h"

#include <fcntl.h>

#include <algorithm>

#include "tabane/tools/encrypt/header_io.h"
#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/stored_name.h"
#include "tabane/tools/encrypt/tree_walk.h"

namespace tabane::encrypt {
namespace {

bool is_sealed_for_tree(DirectoryOpener& directories, const Tree& tree, const TreeFile& file,
                        const TreeSeal& seal) {
  try {
    const core::Descriptor opened(openat(directories.open(file.directory)->get(),
                                         tree.name(file.name_at),
                                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!opened.valid()) return false;
    const std::vector<std::byte> bytes = read_header(opened.get(), tree.path(file));
    return keys_in_tree(decode_header(bytes), bytes, seal.header.tree, seal.key).has_value();
  } catch (const core::Error&) {
    return false;
  }
}

// The files of a tree with hidden names: those that no path of the plain tree has.
std::vector<Stray> hidden_strays(const Tree& found, const Tree& plain, const TreeSeal& seal) {
  std::vector<StoredName> names;
  for (const TreeFile& file : plain.files) {
    names.push_back(stored_name_of(seal.key, seal.header.tree, plain.path(file)));
  }
  std::ranges::sort(names);
  std::vector<Stray> strays;
  for (const TreeFile& file : found.files) {
    const std::string path = found.path(file);
    const auto at = std::ranges::lower_bound(names, path, {}, text_of_stored);
    if (at == names.end() || text_of_stored(*at) != path) strays.push_back({path, false});
  }
  std::ranges::sort(strays, [](const Stray& a, const Stray& b) {
    return compare_paths(a.path, b.path) < 0;  // as a walk goes, which deeper directories change
  });
  return strays;
}

std::vector<Stray> shown_strays(const Tree& found, const Tree& plain) {
  std::vector<Stray> strays;
  TreeWalk here(found), wanted(plain);
  bool more = wanted.next();
  while (here.next()) {
    while (more && compare_paths(wanted.path(), here.path()) < 0) more = wanted.next();
    const bool same = more && wanted.path() == here.path() && wanted.kind() == here.kind();
    if (!same && here.kind() != EntryKind::link) {
      strays.push_back({here.path(), here.kind() == EntryKind::directory});
    }
  }
  return strays;
}

}  // namespace

std::vector<Stray> strays_of(int sealed, const Tree& plain, const TreeSeal& seal,
                             bool hidden_names) {
  const Tree found = scan(sealed, {}, Temporaries::leave_out, true);
  std::vector<Stray> strays =
      hidden_names ? hidden_strays(found, plain, seal) : shown_strays(found, plain);
  DirectoryOpener directories(found, sealed, false);
  TreeWalk walk(found);
  auto stray = strays.begin();
  while (stray != strays.end() && walk.next()) {
    if (walk.path() != stray->path) continue;
    stray->of_stranger = !stray->directory &&
                         !is_sealed_for_tree(directories, found, found.files[walk.index()], seal);
    ++stray;
  }
  return strays;
}

}  // namespace tabane::encrypt
