#include "tabane/tools/encrypt/hidden_names.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "tabane/crypto/key_derivation.h"
#include "tabane/tools/encrypt/scan.h"

namespace tabane::encrypt {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// The files of a scan of a tree with hidden names: those of the root, then of the directories 00,
// 01 … in turn, each with what lies deeper in it behind its own.
class StoredFiles {
 public:
  explicit StoredFiles(const Tree& stored) : stored_(stored), named_(stored.files.size()) {}

  // Returns the size of a file, once it is there.
  std::optional<std::uint64_t> take(const StoredName& name) {
    const std::string path = text_of_stored(name);
    const auto comes_before = [this](const TreeFile& file, const std::string& wanted) {
      return compare(file, wanted) < 0;
    };
    const auto* const file =
        std::lower_bound(stored_.files.begin(), stored_.files.end(), path, comes_before);
    if (file == stored_.files.end() || compare(*file, path) != 0) return std::nullopt;
    named_[static_cast<std::size_t>(file - stored_.files.begin())] = true;
    return file->bytes;
  }

  std::vector<std::string> strays() const {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < named_.size(); ++i) {
      if (!named_[i]) paths.push_back(stored_.path(stored_.files[i]));
    }
    for (const TreeLink& link : stored_.links) paths.push_back(stored_.path(link));
    add_directories(paths);
    return paths;
  }

 private:
  // Those that files lie in stay behind when the last one goes.
  void add_directories(std::vector<std::string>& paths) const {
    const std::vector<std::string> own = stored_directories();
    for (std::uint32_t i = 1; i < stored_.directories.size(); ++i) {
      const std::string path = stored_.path(i);
      if (std::ranges::find(own, path) == own.end()) paths.push_back(path);
    }
  }

  // Below 0, 0 or above 0, in the order of the scan.
  int compare(const TreeFile& file, const std::string& wanted) const {
    std::uint32_t directory = file.directory;
    if (directory == 0) return -1;
    bool deeper = false;
    for (; stored_.directories[directory].parent != 0; deeper = true) {
      directory = stored_.directories[directory].parent;
    }
    const std::string_view first = stored_.name(stored_.directories[directory].name_at);
    const int order = first.compare(std::string_view(wanted).substr(0, 2));
    if (order != 0) return order;
    return deeper ? 1
                  : std::string_view(stored_.name(file.name_at))
                        .compare(std::string_view(wanted).substr(3));
  }

  const Tree& stored_;
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

  void add_file(const ManifestEntry& entry, std::uint64_t sealed_bytes) {
    const std::uint32_t parent = parent_of(entry.path);
    tree_.files.push_back({add_name(entry.path), sealed_bytes, parent});
  }

  Tree finish() {
    std::sort(tree_.files.begin(), tree_.files.end(), [](const TreeFile& a, const TreeFile& b) {
      return a.directory != b.directory ? a.directory < b.directory : a.name_at < b.name_at;
    });
    renumber();
    return std::move(tree_);
  }

 private:
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

  std::uint64_t add_name(const std::string& path) {
    const std::uint64_t at = tree_.names.size();
    const std::string name = path.substr(path.rfind('/') + 1);
    tree_.names.append(name.c_str(), name.size() + 1);
    return at;
  }

  // A scan numbers the children of a directory one after the other when it enters it.
  void renumber() {
    const std::size_t count = tree_.directories.size();
    std::vector<std::uint32_t> first_child(count, kNone), next(count, kNone), number(count, 0);
    for (std::size_t i = count; i-- > 1;) {
      const std::uint32_t parent = tree_.directories[i].parent;
      next[i] = first_child[parent];
      first_child[parent] = static_cast<std::uint32_t>(i);
    }
    std::uint32_t used = 1;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::uint32_t child = first_child[i]; child != kNone; child = next[child]) {
        number[child] = used++;
      }
    }
    std::vector<TreeDirectory> numbered(count);
    for (std::size_t i = 0; i < count; ++i) {
      numbered[number[i]] = {number[tree_.directories[i].parent], tree_.directories[i].name_at};
    }
    std::ranges::copy(numbered, tree_.directories.begin());
    for (TreeFile& file : tree_.files) file.directory = number[file.directory];
  }

  Tree tree_;
  std::vector<Inside> inside_;
};

}  // namespace

StoredName stored_name_of(const TreeKey& key, const TreeId& tree, std::string_view path) {
  const auto all = crypto::derive_key(key.bytes(), tree, "tabane stored name 2",
                                      std::as_bytes(std::span(path.data(), path.size())));
  StoredName name;
  std::ranges::copy(all.bytes().first(name.size()), name.begin());
  return name;
}

std::string text_of_stored(const StoredName& name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : name) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text.insert(2, 1, '/');
}

std::vector<std::string> stored_directories() {
  std::vector<std::string> names = {".tabane"};
  for (unsigned i = 0; i < 256; ++i) {
    names.push_back(text_of_stored({static_cast<std::byte>(i)}).substr(0, 2));
  }
  return names;
}

DirectoryEntry StoredDirectories::at(const StoredName& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const std::string path = text_of_stored(name);
  core::SharedDescriptor& directory = directories_[std::to_integer<unsigned>(name[0])];
  if (!directory) {
    const std::string first = path.substr(0, 2);
    if (make_ && mkdirat(root_, first.c_str(), 0700) != 0 && errno != EEXIST) {
      throw core::SystemError("make the directory", first, errno);
    }
    core::Descriptor opened(openat(root_, first.c_str(), kFlags));
    if (!opened.valid()) throw core::SystemError("open", first, errno);
    directory = std::make_shared<const core::Descriptor>(std::move(opened));
  }
  return {directory, path.substr(3)};
}

PlainTree plain_tree_of(TreeManifest& manifest, const Tree& stored,
                        const std::vector<std::string>& excludes) {
  StoredFiles files(stored);
  Builder builder;
  std::uint64_t excluded = 0;
  manifest.for_each([&](const ManifestEntry& entry) {
    const bool left_out = is_excluded(excludes, entry.path);
    excluded += left_out && entry.kind != EntryKind::link;
    if (entry.kind == EntryKind::file) {
      const auto bytes = files.take(entry.stored_name);
      if (bytes && !left_out) builder.add_file(entry, *bytes);
    } else if (entry.kind == EntryKind::directory && !left_out) {
      builder.add_directory(entry);
    }
  });
  PlainTree result{.tree = builder.finish(), .strays = files.strays()};
  result.tree.excluded = excluded;
  result.tree.specials = stored.specials;
  result.tree.failures = stored.failures;
  return result;
}

}  // namespace tabane::encrypt
