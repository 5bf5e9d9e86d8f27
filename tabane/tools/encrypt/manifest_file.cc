#include "tabane/tools/encrypt/manifest_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "tabane/core/temporary_file.h"
#include "tabane/crypto/openssl.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/encrypt/attributes.h"
#include "tabane/tools/encrypt/sealed_format.h"
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
      if (sealed_.head.attributes)
        entry.attributes = read_attributes(directory->get(), walk.path());
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
  bool take_file(std::uint32_t index, ManifestEntry& entry) {
    const FileRecord record = sealed_.records.get(index);
    entry.mode = record.mode;
    entry.seconds = record.seconds;
    entry.nanoseconds = record.nanoseconds;
    entry.sealed = record.sealed;
    entry.sparse = record.sparse;
    sealed_.complete(index, entry);
    if (record.known) name_first(index, record, entry);
    if (record.known && sealed_.head.attributes) take_attributes(index, entry);
    return record.known;
  }

  void take_attributes(std::uint32_t index, ManifestEntry& entry) {
    const TreeFile& file = sealed_.tree.files[index];
    try {
      const core::Descriptor opened =
          open_entry(directories_.open(file.directory)->get(), sealed_.tree.name(file.name_at));
      if (!opened.valid()) throw core::SystemError("open", entry.path, errno);
      entry.attributes = read_attributes(opened.get(), entry.path);
    } catch (const core::Error& error) {
      failures_.push_back({entry.path, error.what()});
    }
  }

  // Says of a file with several names which is the first, if it is still the file that was scanned,
  // in the state that was sealed.
  void name_first(std::uint32_t index, const FileRecord& record, ManifestEntry& entry) {
    const std::vector<SharedFile>& all = sealed_.tree.shared;
    const auto shared = std::ranges::lower_bound(all, index, {}, &SharedFile::file);
    if (shared == all.end() || shared->file != index) return;
    const TreeFile& file = sealed_.tree.files[index];
    struct stat now {};
    const int directory = directories_.open(file.directory)->get();
    if (fstatat(directory, sealed_.tree.name(file.name_at), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
        core::FileId{now.st_dev, now.st_ino} != shared->place ||
        static_cast<std::uint64_t>(now.st_size) != record.sealed.bytes ||
        !record.has_time_of(now)) {
      return;
    }
    const auto [first, is_new] = firsts_.try_emplace(shared->place, entry.path);
    entry.has_names = is_new;
    if (!is_new) entry.same_as = first->second;
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
  std::map<core::FileId, std::string> firsts_;
};

ManifestHead head_of(const SealedTree& sealed) {
  ManifestHead head = sealed.head;
  head.has_parts = !sealed.tree.shared.empty() || head.attributes;
  for (std::size_t i = 0; i < sealed.tree.files.size() && !head.has_parts; ++i) {
    head.has_parts = sealed.records.get(i).sparse;
  }
  return head;
}

}  // namespace

ManifestFileWriter::ManifestFileWriter(core::SharedDescriptor directory, const StreamSeal& seal,
                                       const ManifestHead& head)
    : file_(std::move(directory), kManifestName, 0600) {
  write(seal.header);
  chunks_.emplace(seal.keys, seal.chunk_bytes,
                  [this](std::span<const std::byte> sealed) { write(sealed); });
  writer_.emplace(head, [this](std::span<const std::byte> plain) { chunks_->put(plain); });
}

void ManifestFileWriter::write(std::span<const std::byte> sealed) {
  core::write_all(file_.fd(), sealed.data(), sealed.size(), kManifestPath);
  sum_.put(sealed);
}

ManifestHash ManifestFileWriter::commit(bool fsync) {
  writer_->finish();
  chunks_->finish();
  file_.commit({.replace = true, .fsync = fsync});
  return sum_.finish();
}

ManifestFileReader::ManifestFileReader(int file, const StreamSeal& seal)
    : offset_(seal.header.size()) {
  sum_.put(seal.header);
  chunks_.emplace(seal.keys, seal.chunk_bytes, seal.header.size(),
                  [this, file](std::span<std::byte> place) {
                    const std::size_t there =
                        core::read_all_at(file, place.data(), place.size(), offset_, kManifestPath);
                    offset_ += there;
                    sum_.put(place.first(there));
                    return there;
                  });
  reader_.emplace([this](std::span<std::byte> place) { return chunks_->get(place); });
}

FileRecord record_of(const ManifestEntry& entry) {
  return {.sealed = entry.sealed,
          .seconds = entry.seconds,
          .nanoseconds = entry.nanoseconds,
          .mode = entry.mode,
          .known = true,
          .sparse = entry.sparse};
}

std::unique_ptr<TreeManifest> TreeManifest::open(int root, KeyRing& keys) {
  std::unique_ptr<TreeManifest> manifest(new TreeManifest);
  manifest->file_ = open_own_file(root, kManifestPath);
  if (!manifest->file_.valid()) return nullptr;
  StreamSeal& seal = manifest->seal_;
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

void TreeManifest::hold_against(const Tree& tree, const Selection& selection, bool attributes) {
  files_.emplace(tree.files.size(), temporary_directory().get());
  std::unordered_map<std::string, std::uint32_t> firsts;
  merge_with(tree, [&](const ManifestEntry* listed, const TreeWalk* found) {
    const std::string& path = listed ? listed->path : found->path();
    const EntryKind kind = listed ? listed->kind : found->kind();
    if (!selection.takes(path, kind == EntryKind::directory)) return;
    if (found == nullptr) {
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
      if (attributes && !listed->attributes.empty()) {
        attributes_.emplace(found->index(), listed->attributes);
      }
      if (!listed->has_names && listed->same_as.empty()) return;
      const std::string& name = listed->has_names ? listed->path : listed->same_as;
      const auto [first, is_new] = firsts.try_emplace(name, found->index());
      if (!is_new) first_names_.emplace(found->index(), first->second);
    }
  });
}

std::optional<std::uint32_t> TreeManifest::first_name_of(std::uint32_t file) const {
  const auto found = first_names_.find(file);
  return found == first_names_.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<Attribute>& TreeManifest::attributes_of(std::uint32_t file) const {
  static const std::vector<Attribute> none;
  const auto found = attributes_.find(file);
  return found == attributes_.end() ? none : found->second;
}

void TreeManifest::add(const std::string& path, const Misfit& misfit) {
  const bool temporary = core::is_temporary_name(path.substr(path.rfind('/') + 1));
  if (misfit.kind == Difference::added && temporary) return temporaries_.push_back(path);
  finder_.add(misfit.kind, path, misfit.salt);
}

std::vector<TreeDifference> TreeManifest::differences() {
  if (finder_.wants_look_up()) {
    for_each([this](const ManifestEntry& entry) { finder_.look_up(entry); });
  }
  return finder_.take();
}

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

ManifestHash write_manifest(const SealedTree& sealed, core::SharedDescriptor home, bool fsync,
                            std::vector<Failure>& failures) {
  ManifestFileWriter writer(std::move(home), fresh_seal(sealed.seal, Content::manifest),
                            head_of(sealed));
  EntryMaker entries(sealed, failures);
  ManifestEntry entry;
  for (TreeWalk walk(sealed.tree); walk.next();) {
    if (entries.make(walk, entry)) writer.add(entry);
  }
  return writer.commit(fsync);
}

}  // namespace tabane::encrypt
