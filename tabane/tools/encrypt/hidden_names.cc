#include "tabane/tools/encrypt/hidden_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <span>
#include <utility>

#include "tabane/core/threads.h"
#include "tabane/crypto/key_derivation.h"
#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

// The mark of a tree that hides names, which a job that goes on keeps to.
constexpr const char* kHidesNames = ".tabane/hidden-names";

// Whoever contradicts a manifest wants names in the open, or files where nobody looks for them.
void require_mark(int root, bool hidden) {
  if (has_own_file(root, kHidesNames) == hidden) return;
  throw core::Error(hidden ? fmt::format("OUT: {} was removed: the manifest hides names; make an "
                                         "empty file of that name to continue",
                                         kHidesNames)
                           : fmt::format("OUT: {} was added: the manifest shows names; remove that "
                                         "file to continue",
                                         kHidesNames));
}

// Returns the name that a file of this path has been stored by; nothing: it is another file.
std::optional<StoredName> name_in(const std::string& path) {
  StoredName name{};
  if (path.size() != 2 * name.size() + 1) return std::nullopt;
  crypto::from_hexadecimal(path.substr(0, 2) + path.substr(3), name);
  return text_of_stored(name) == path ? std::optional(name) : std::nullopt;
}

// The files of a scan of a tree with hidden names, by those.
class StoredFiles {
 public:
  explicit StoredFiles(const Tree& stored) : stored_(stored), named_(stored.files.size()) {
    for (std::uint32_t i = 0; i < named_.size(); ++i) {
      if (const auto name = name_in(stored.path(stored.files[i]))) found_.emplace_back(*name, i);
    }
    std::ranges::sort(found_);
  }

  // Returns a file, if it is there.
  const TreeFile* take(const StoredName& name) {
    const auto at = std::ranges::lower_bound(found_, name, {}, &Found::first);
    if (at == found_.end() || at->first != name) return nullptr;
    named_[at->second] = true;
    return &stored_.files[at->second];
  }

  std::vector<std::string> strays() const {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < named_.size(); ++i) {
      if (!named_[i]) paths.push_back(stored_.path(stored_.files[i]));
    }
    for (const TreeLink& link : stored_.links) paths.push_back(stored_.path(link));
    for (std::uint32_t i = 1; i < stored_.directories.size(); ++i) {
      const std::string path = stored_.path(i);
      // Those that files lie in stay behind when the last one goes.
      const bool holds_files =
          path.size() == 2 && path.find_first_not_of("0123456789abcdef") == path.npos;
      if (!holds_files && path != kOwnDirectory) paths.push_back(path);
    }
    return paths;
  }

 private:
  using Found = std::pair<StoredName, std::uint32_t>;

  const Tree& stored_;
  std::vector<Found> found_;  // with the index of the file, sorted
  std::vector<bool> named_;
};

// Takes the entries of a manifest in their order, which enters a directory where its name stands,
// and gives them the order of a scan.
class Builder {
 public:
  void add_directory(const ManifestEntry& entry) {
    const std::uint32_t parent = entry.path.empty() ? 0 : parent_of(entry.path);
    tree_.directories.push_back({parent, add_name(entry.path)});
    inside_.push_back({entry.path, static_cast<std::uint32_t>(tree_.directories.size() - 1)});
  }

  void add_file(const ManifestEntry& entry, const TreeFile& stored) {
    const std::uint32_t parent = parent_of(entry.path);
    files_.push_back({{add_name(entry.path), stored.bytes, parent}, stored});
  }

  Tree finish() {
    std::ranges::sort(files_, {}, [](const File& file) {
      return std::pair(file.plain.directory, file.plain.name_at);
    });
    for (const File& file : files_) tree_.files.push_back(file.plain);
    renumber();
    return std::move(tree_);
  }
  // The files of what finish() has returned, as they are stored.
  GrowingArray<TreeFile> stored() const {
    GrowingArray<TreeFile> files;
    for (const File& file : files_) files.push_back(file.stored);
    return files;
  }

 private:
  struct File {
    TreeFile plain, stored;
  };
  struct Inside {
    std::string path;
    std::uint32_t directory;
  };

  // The directories that were entered last stand on top.
  std::uint32_t parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == path.npos ? "" : path.substr(0, slash);
    while (inside_.back().path != parent) inside_.pop_back();
    return inside_.back().directory;
  }

  std::uint64_t add_name(std::string_view path) {
    return tree_.add_name(path.substr(path.rfind('/') + 1));
  }

  // A scan numbers the children of a directory one after the other when it enters it.
  void renumber() {
    const GrowingArray<TreeDirectory> old = std::move(tree_.directories);
    std::vector<std::uint32_t> order(old.size()), number(old.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin() + 1, order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return old[a].parent < old[b].parent;
    });
    for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
    for (const std::uint32_t i : order) {
      tree_.directories.push_back({number[old[i].parent], old[i].name_at});
    }
    for (TreeFile& file : tree_.files) file.directory = number[file.directory];
  }

  Tree tree_;
  std::vector<File> files_;
  std::vector<Inside> inside_;
};

// The salt of what may be a sealed file.
std::optional<Salt> salt_of(int root, const std::string& path) {
  const auto found = header_there(root, path.c_str());
  return found ? std::optional(found->header.file_salt) : std::nullopt;
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

// The tree that is written: its files have these names, and stand at the same indices.
Tree stored_tree(const StoredNames& names) {
  Tree tree;
  tree.directories.push_back({0, tree.add_name("")});
  for (unsigned i = 0; i < 256; ++i) {
    const std::string path = text_of_stored({static_cast<std::byte>(i)});
    tree.directories.push_back({0, tree.add_name(path.substr(0, 2))});
  }
  for (const StoredName& name : names) {
    const std::uint64_t at = tree.add_name(text_of_stored(name).substr(3));
    tree.files.push_back({at, 0, 1 + std::to_integer<std::uint32_t>(name[0])});
  }
  return tree;
}

// The files of a scanned tree that none of the names is for, in the order of a walk.
std::vector<Stray> files_without_name(const Tree& found, StoredNames names) {
  std::ranges::sort(names);
  std::vector<Stray> strays;
  for (const TreeFile& file : found.files) {
    const std::string path = found.path(file);
    const auto name = name_in(path);
    if (!name || !std::ranges::binary_search(names, *name)) strays.push_back({path, false});
  }
  std::ranges::sort(strays, [](const Stray& a, const Stray& b) {
    return compare_paths(a.path, b.path) < 0;  // in a scan deeper directories come later
  });
  return strays;
}

}  // namespace

StoredName stored_name_of(const TreeKey& key, const TreeId& tree, std::string_view path) {
  const auto all = crypto::derive_key(key.bytes(), tree, "tabane stored name 2",
                                      std::as_bytes(std::span(path.data(), path.size())));
  StoredName name;
  std::ranges::copy(all.bytes().first(name.size()), name.begin());
  return name;
}

std::string text_of_stored(const StoredName& name) {
  return crypto::hexadecimal(name).insert(2, 1, '/');
}

void complete(StoredNames& names, const Tree& plain, const TreeSeal& seal, unsigned threads) {
  constexpr std::size_t kWorthAThread = 1024, kAtOnce = 64;
  names.resize(plain.files.size());
  const std::size_t crew = std::clamp<std::size_t>(names.size() / kWorthAThread, 1, threads);
  std::atomic<std::size_t> next = 0;  // as fewer threads than these may start
  const auto work = [&](std::size_t) {
    for (std::size_t i; (i = next.fetch_add(kAtOnce)) < names.size();) {
      for (const std::size_t end = std::min(i + kAtOnce, names.size()); i < end; ++i) {
        if (names[i] != StoredName{}) continue;
        names[i] = stored_name_of(seal.key, seal.header.tree, plain.path(plain.files[i]));
      }
    }
  };
  core::run_crew(crew, work, std::chrono::milliseconds(100), [] {});
}

OutputNames::OutputNames(const Request& request, const Tree& plain, int out, int home,
                         const TreeManifest* old)
    : plain_(plain) {
  const bool marked = has_own_file(out, kHidesNames);
  const bool goes_on = request.resume && has_own_file(out, kKeysPath) &&
                       (has_own_file(out, kManifestPath) || marked);
  // A manifest decides; the mark, which anybody can make or remove, where there is none to be read.
  if (old) require_mark(out, old->head().hidden_names);
  if (goes_on && request.hide_names && !marked) {
    throw core::UsageError("OUT shows its names; --hide-names begins anew with --force");
  }
  hides_ = request.hide_names || (request.resume && marked);
  forget();
  if (request.dry_run) return;
  hides_ ? make_mark(home, kHidesNames) : remove_own_file(home, kHidesNames);
}

void OutputNames::complete(Trees& trees, const TreeSeal& seal, unsigned threads) {
  if (!hides_) return;
  encrypt::complete(names_, plain_, seal, threads);
  trees.as_written = stored_tree(names_);
}

std::optional<Stray> OutputNames::place_of(const ManifestEntry& gone) const {
  const bool directory = gone.kind == EntryKind::directory;
  if (gone.kind == EntryKind::link || (hides_ && directory)) return std::nullopt;
  if (!hides_) return Stray{gone.path, directory};
  return Stray{text_of_stored(gone.stored_name), false, false, gone.path};
}

std::vector<Stray> OutputNames::strays(const Tree& found) const {
  return hides_ ? files_without_name(found, names_) : shown_strays(found, plain_);
}

void unhide(TreeManifest& manifest, const Selection& selection, int root, Trees& trees) {
  if (!manifest.head().hidden_names) return;
  Tree scanned =
      selection.takes_all() ? std::move(trees.tree) : scan(root, {}, Temporaries::take, true);
  StoredFiles files(scanned);
  Builder builder;
  std::uint64_t excluded = 0;
  manifest.for_each([&](const ManifestEntry& entry) {
    const bool left_out = selection.leaves_out(entry.path, entry.kind == EntryKind::directory);
    excluded += left_out && entry.kind != EntryKind::link;
    if (entry.kind == EntryKind::file) {
      const TreeFile* const stored = files.take(entry.stored_name);
      if (stored && !left_out) builder.add_file(entry, *stored);
    } else if (entry.kind == EntryKind::directory && !left_out) {
      builder.add_directory(entry);
    }
  });
  for (const std::string& stray : files.strays()) {
    manifest.add(stray, {Difference::added, salt_of(root, stray)});
  }
  trees.tree = builder.finish();
  trees.tree.excluded = excluded;
  trees.tree.specials = scanned.specials;
  trees.tree.failures = scanned.failures;
  scanned.files = builder.stored();
  trees.as_read = std::move(scanned);
}

void hold_mark_against(TreeManifest& manifest, std::vector<std::string>& strangers) {
  if (!manifest.head().hidden_names) return;
  const bool marked = std::erase(strangers, name_at_home(kHidesNames)) > 0;
  if (!marked) manifest.add(kHidesNames, {Difference::missing});
}

}  // namespace tabane::encrypt
