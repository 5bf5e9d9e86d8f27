#include "tabane/tools/encrypt/tree_manifest.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tabane/core/temporary_file.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/header_io.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

// Whether the scan failed at the path or at a directory that it lies in, which is told already.
bool could_not_be_seen(const Tree& tree, const std::string& path) {
  return std::ranges::any_of(tree.failures, [&](const Failure& failure) {
    return path == failure.path || failure.path.empty() || path.starts_with(failure.path + '/');
  });
}

// None that is valid if there is no such directory.
core::Descriptor temporary_directory() {
  std::error_code ignored;
  const std::string path = std::filesystem::temp_directory_path(ignored);
  return core::Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

DiffersFromManifest::DiffersFromManifest(Difference kind,
                                         std::optional<DifferenceFinder::Salt> salt)
    : Error(text_of(TreeDifference{kind, "", ""})), kind_(kind), salt_(salt) {}

FileRecord record_of(const ManifestEntry& entry) {
  return {.sealed = entry.sealed,
          .seconds = entry.seconds,
          .nanoseconds = entry.nanoseconds,
          .mode = entry.mode,
          .stored_name = entry.stored_name,
          .known = true};
}

ManifestSeal seal_of_manifest(const TreeSeal& tree) {
  Header header = tree.header;
  crypto::fill_random(header.file_salt);
  ManifestSeal seal;
  seal.keys = derive_file_keys(header, tree.key, Content::manifest);
  const auto fixed = encode_header(header, seal.keys);
  seal.header.assign(fixed.begin(), fixed.end());
  seal.header.insert(seal.header.end(), tree.embedded.begin(), tree.embedded.end());
  seal.chunk_bytes = header.chunk_bytes();
  return seal;
}

std::unique_ptr<TreeManifest> TreeManifest::open(int root, KeyRing& keys) {
  const core::Descriptor home = open_home(root, false);
  if (!home.valid()) return nullptr;
  std::unique_ptr<TreeManifest> manifest(new TreeManifest);
  manifest->file_ = open_own_file(home.get(), kManifestName, kManifestPath);
  if (!manifest->file_.valid()) return nullptr;
  ManifestSeal& seal = manifest->seal_;
  seal.header = read_header(manifest->file_.get(), kManifestPath);
  const Header header = decode_header(seal.header);
  if (header.source != KeySource::tree_key) throw DamageError("not sealed as a manifest is", 9);
  seal.keys = keys.keys_of(header, seal.header, Content::manifest);
  seal.chunk_bytes = header.chunk_bytes();
  manifest->head_ = ManifestFileReader(manifest->file_.get(), seal).head();
  if (manifest->head_.tree_id != header.tree) throw DamageError("of another tree", 8);
  return manifest;
}

template <class Read>
void TreeManifest::read(const Read& read) {
  ManifestFileReader reader(file_.get(), seal_);
  read(reader.entries());
  root_ = reader.root();
}

void TreeManifest::merge_with(const Tree& tree, const Each& each) {
  read([&](ManifestReader& entries) { merge(entries, tree, each); });
}

void TreeManifest::for_each(const std::function<void(const ManifestEntry&)>& each) {
  read([&](ManifestReader& entries) {
    for (ManifestEntry entry; entries.next(entry);) each(entry);
  });
}

void TreeManifest::hold_against(const Tree& tree, const std::vector<std::string>& excludes) {
  files_.emplace(tree.files.size(), temporary_directory().get());
  merge_with(tree, [&](const ManifestEntry* listed, const TreeWalk* found) {
    if (found == nullptr) {
      if (is_excluded(excludes, listed->path)) return;
      if (listed->kind == EntryKind::link) {
        ++links_;  // they stand in the manifest alone
      } else if (!could_not_be_seen(tree, listed->path)) {
        finder_.add(Difference::missing, listed->path);
      }
    } else if (listed == nullptr) {
      // What a file is, the work finds out.
      if (found->kind() != EntryKind::file) finder_.add(Difference::added, found->path());
    } else if (listed->kind != found->kind() || listed->kind == EntryKind::link) {
      finder_.add(Difference::other_kind, found->path());
    } else if (listed->kind == EntryKind::file) {
      files_->put(found->index(), record_of(*listed));
    }
  });
}

void TreeManifest::add(const std::string& path, const DiffersFromManifest& difference) {
  const std::lock_guard lock(mutex_);
  const bool temporary = core::is_temporary_name(path.substr(path.rfind('/') + 1));
  if (difference.kind() == Difference::added && temporary) {
    return temporaries_.push_back(path);
  }
  finder_.add(difference.kind(), path, difference.salt());
}

std::vector<TreeDifference> TreeManifest::differences() {
  if (finder_.wants_look_up()) {
    for_each([this](const ManifestEntry& entry) { finder_.look_up(entry); });
  }
  return finder_.take();
}

}  // namespace tabane::encrypt
