#include "tabane/tools/encrypt/seal_manifest.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "tabane/tools/encrypt/tree_manifest.h"
#include "tabane/tools/encrypt/tree_walk.h"

namespace tabane::encrypt {
namespace {

void take_status(const struct stat& status, ManifestEntry& entry) {
  entry.mode = status.st_mode & 07777;
  entry.seconds = status.st_mtim.tv_sec;
  entry.nanoseconds = static_cast<std::uint32_t>(status.st_mtim.tv_nsec);
}

class EntryMaker {
 public:
  EntryMaker(const SealedTree& sealed, std::vector<Failure>& failures)
      : sealed_(sealed), failures_(failures), directories_(sealed.tree, sealed.in_root, false) {}

  // Returns whether there is an entry to write. A directory that cannot be read has one in any
  // case, since others may lie in it.
  bool make(const TreeWalk& walk, ManifestEntry& entry) {
    entry = {};
    entry.kind = walk.kind();
    entry.path = walk.path();
    if (walk.kind() == EntryKind::file) return take_file(walk.index(), entry);
    try {
      const core::SharedDescriptor directory = directories_.open(walk.directory());
      if (walk.kind() == EntryKind::link) return take_link(directory->get(), walk, entry);
      struct stat status {};
      if (fstat(directory->get(), &status) != 0) throw core::SystemError("stat", "", errno);
      take_status(status, entry);
    } catch (const core::Error& error) {
      const auto told = [&](const Failure& failure) { return failure.path == walk.path(); };
      if (std::ranges::none_of(sealed_.tree.failures, told)) {
        failures_.push_back({walk.path(), error.what()});
      }
      entry.mode = 0700;
      return walk.kind() == EntryKind::directory;
    }
    return true;
  }

 private:
  bool take_file(std::uint32_t index, ManifestEntry& entry) const {
    const FileRecord record = sealed_.records.get(index);
    entry.mode = record.mode;
    entry.seconds = record.seconds;
    entry.nanoseconds = record.nanoseconds;
    entry.sealed = record.sealed;
    entry.stored_name = record.stored_name;
    return record.known;
  }

  bool take_link(int directory, const TreeWalk& walk, ManifestEntry& entry) const {
    const char* name = sealed_.tree.name(sealed_.tree.links[walk.index()].name_at);
    struct stat status {};
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      throw core::SystemError("stat", walk.path(), errno);
    }
    take_status(status, entry);
    entry.target = read_link(directory, name);
    return true;
  }

  const SealedTree& sealed_;
  std::vector<Failure>& failures_;
  DirectoryOpener directories_;
};

}  // namespace

bool says_the_same(TreeManifest& manifest, const SealedTree& sealed) {
  std::vector<Failure> failures;
  EntryMaker entries(sealed, failures);
  ManifestEntry entry;
  TreeWalk walk(sealed.tree);
  const auto next = [&] {
    while (walk.next()) {
      if (entries.make(walk, entry)) return true;
    }
    return false;
  };
  bool same = true;
  manifest.for_each([&](const ManifestEntry& listed) { same = same && next() && entry == listed; });
  return same && !next() && failures.empty();
}

Root write_manifest(const SealedTree& sealed, core::SharedDescriptor home, bool fsync,
                    std::vector<Failure>& failures) {
  ManifestFileWriter writer(std::move(home), seal_of_manifest(sealed.seal),
                            {.tree_id = sealed.seal.header.tree,
                             .generation = sealed.generation,
                             .hidden_names = sealed.hidden_names});
  EntryMaker entries(sealed, failures);
  ManifestEntry entry;
  for (TreeWalk walk(sealed.tree); walk.next();) {
    if (entries.make(walk, entry)) writer.add(entry);
  }
  return writer.commit(fsync);
}

}  // namespace tabane::encrypt
