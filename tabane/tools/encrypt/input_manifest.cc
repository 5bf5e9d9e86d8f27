#include "tabane/tools/encrypt/input_manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "tabane/tools/encrypt/hidden_names.h"
#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/run_keys.h"
#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

constexpr const char* kWithout = "--without-manifest takes the files as they are";
constexpr const char* kPutBack =
    "put back this tree's own from a copy, or encrypt the plain files anew with --force";

[[noreturn]] void refuse_tree_without_manifest(const Request& request, const Tree& tree) {
  if (tree.own_directory) {
    throw core::Error(
        "IN ({}) has no manifest: its encryption was interrupted, and tabane encrypt --resume "
        "finishes it, or the manifest was removed; {}",
        request.in, kWithout);
  }
  throw core::Error(
      "IN ({}) has no manifest: it is a part of a sealed tree, or .tabane was removed; {}",
      request.in, kWithout);
}

[[noreturn]] void refuse_tree_being_changed(const Request& request) {
  throw core::Error(
      "IN ({}) is being changed, or a job that changed it was interrupted, and tabane encrypt "
      "--update or --resume finishes it; {}",
      request.in, kWithout);
}

[[noreturn]] void refuse_manifest_of_another_tree(const Request& request, const TreeId& listed,
                                                  const TreeId& found) {
  throw core::Error(
      "{} is of another tree than the files in IN ({}): its tree has the id {}, theirs {}; {}; {}",
      kManifestPath, request.in, crypto::hexadecimal(listed), crypto::hexadecimal(found), kPutBack,
      kWithout);
}

// What can be done about a manifest that cannot be read.
std::string advice_for(const DamageError& error) {
  if (dynamic_cast<const VersionError*>(&error)) return kWithout;
  const bool foreign = dynamic_cast<const WrongKey*>(&error) != nullptr;
  return fmt::format("{}; {}; {}",
                     foreign ? "if the key is right, it is the manifest of another tree"
                             : "it is damaged, or is not the manifest that encrypt wrote",
                     kPutBack, kWithout);
}

[[noreturn]] void throw_with_advice(const DamageError& error) {
  throw core::Error("{}: {}; {}", kManifestPath, error.what(), advice_for(error));
}

// Returns null if there is none. throws: core::Error if the tree is being changed.
std::unique_ptr<TreeManifest> open_manifest(const Request& request, const Places& places,
                                            KeyRing& keys) {
  auto manifest = TreeManifest::open(places.in_root.get(), keys);
  if (manifest && has_own_file(places.in_root.get(), kIsChanging)) {
    refuse_tree_being_changed(request);
  }
  return manifest;
}

// Whether a manifest has any of the files that were found, or has given them their names.
bool lists_files(const TreeManifest& manifest, const Trees& trees) {
  if (trees.as_read) return true;
  for (std::size_t i = 0; i < trees.tree.files.size(); ++i) {
    if (manifest.expected(i).known) return true;
  }
  return false;
}

void require_root(const Request& request, const ManifestHash& root) {
  if (!request.root || *request.root == root) return;
  throw core::Error(
      "the root of IN ({}) is {}, not {}: the tree was replaced by another state of "
      "it, or by another tree",
      request.in, crypto::hexadecimal(root), crypto::hexadecimal(*request.root));
}

// A mistyped PATH must not pass for a restored one.
void require_named(const Request& request, TreeManifest& manifest) {
  std::vector<std::string> missing = request.selection.paths();
  if (missing.empty()) return;
  manifest.for_each([&](const ManifestEntry& entry) {
    if (!request.selection.takes(entry.path, entry.kind == EntryKind::directory)) return;
    std::erase_if(missing,
                  [&](const std::string& pattern) { return Selection::fits(pattern, entry.path); });
  });
  if (missing.empty()) return;
  throw core::UsageError(
      "nothing in IN ({}) fits {}; tabane verify --list shows what "
      "is there",
      request.in, fmt::join(missing, ", "));
}

// A manifest is replaced as a whole, and the one that is held open keeps its inode.
bool has_another_manifest(const Places& places) {
  struct stat before {
  }, now{};
  const bool had = places.manifest.valid() && fstat(places.manifest.get(), &before) == 0;
  const bool has = fstatat(places.in_root.get(), kManifestPath, &now, AT_SYMLINK_NOFOLLOW) == 0;
  if (!had || !has) return had != has;
  return before.st_dev != now.st_dev || before.st_ino != now.st_ino;
}

// What a scan leaves out: pipes and the like, and what lies beside the manifest.
void add_what_nobody_seals(TreeManifest& manifest, const Places& places) {
  for (const std::string& path : places.trees.tree.specials) {
    manifest.add(path, {Difference::added});
  }
  std::vector<std::string> strangers = strangers_at_home(places.in_root.get());
  hold_mark_against(manifest, strangers);
  for (const std::string& name : strangers) {
    manifest.add(fmt::format("{}/{}", kOwnDirectory, name), {Difference::added});
  }
}

}  // namespace

bool needs_manifest(const Request& request) {
  return request.quick || request.root || !request.selection.paths().empty();
}

std::unique_ptr<TreeManifest> manifest_of_input(const Request& request, Places& places,
                                                KeyRing& keys) {
  try {
    std::unique_ptr<TreeManifest> manifest = open_manifest(request, places, keys);
    if (!manifest) {
      // Files of version 1 alone have none, and do not lie beside tabane's own directory.
      if (needs_manifest(request) || places.trees.tree.own_directory ||
          holds_sealed_files(places.trees.tree, places.in_root.get(), true)) {
        refuse_tree_without_manifest(request, places.trees.tree);
      }
      return nullptr;
    }
    const int root = places.in_root.get();
    const auto other = other_tree_there(places.trees.tree, root, manifest->head().tree_id);
    unhide(*manifest, request.selection, root, places.trees);
    manifest->hold_against(places.trees.tree, request.selection, request.xattrs);
    if (other && lists_files(*manifest, places.trees)) {
      refuse_manifest_of_another_tree(request, manifest->head().tree_id, *other);
    }
    require_root(request, manifest->root());
    require_named(request, *manifest);
    add_what_nobody_seals(*manifest, places);
    return manifest;
  } catch (const DamageError& error) {
    throw_with_advice(error);
  }
}

std::vector<Failure> list_manifest(
    const Request& request, const Hooks& hooks,
    const std::function<void(const ManifestSummary&, const ManifestEntry&)>& each) {
  check(request);
  if (!request.is_sealed()) throw core::UsageError("--list takes a tree of aes-256-gcm");
  const Places places = look_at_root(request);
  hooks.places_are_fit();
  KeyRing keys = ring_of(request, hooks);
  std::unique_ptr<TreeManifest> manifest;
  ManifestSummary all;
  std::vector<Failure> failures;
  const auto read = [&] {
    use_keys_file(places.trees.tree, places.in_root.get(), true, keys, failures);
    manifest = open_manifest(request, places, keys);
    if (!manifest) refuse_tree_without_manifest(request, places.trees.tree);
    manifest->for_each([&](const ManifestEntry& entry) {
      all.largest = std::max(all.largest, entry.sealed.bytes);
    });
  };
  try {
    open_unless_changing(request, places, read);
    all.head = manifest->head();
    all.root = manifest->root();
    require_root(request, all.root);
    manifest->for_each([&](const ManifestEntry& entry) {
      if (request.selection.takes(entry.path, entry.kind == EntryKind::directory)) each(all, entry);
    });
  } catch (const DamageError& error) {
    throw_with_advice(error);
  }
  if (manifest->root() != all.root) throw core::Error("the manifest was changed while it was read");
  return failures;
}

void open_unless_changing(const Request& request, const Places& places,
                          const std::function<void()>& step) {
  try {
    step();
  } catch (const core::UsageError&) {
    throw;
  } catch (const core::Error&) {
    if (!JobLock::is_held(places.in_root.get()) && !has_another_manifest(places)) throw;
    throw core::Error(
        "IN ({}) is being changed by another job, so nothing can be said of it; try "
        "again when that has ended",
        request.in);
  }
}

bool changed_since_scan(const Places& places) {
  // In this order: an update removes its mark when the new manifest is there.
  return has_own_file(places.in_root.get(), kIsChanging) || has_another_manifest(places);
}

void tell_that_it_changed(const Request& request, std::vector<Failure>& failures) {
  const bool verifies = request.direction == Direction::verify;
  if (failures.empty() && !verifies) return;  // all is there, as the manifest had it
  std::erase_if(failures,
                [&](const Failure& failure) { return verifies || !failure.difference.empty(); });
  failures.insert(
      failures.begin(),
      {"",
       fmt::format("was changed by another job while it was read, so what did not fit is not "
                   "told; {} when that job has ended",
                   verifies ? "verify again" : "decrypt --resume completes OUT"),
       ""});
}

bool looks_right(JobState& job, Directories& directories, std::uint32_t file) {
  const TreeFile& place = job.tree.files[file];
  const FileRecord record = job.manifest->expected(file);
  if (!record.known || place.bytes < kSlotsAt + crypto::kTagBytes) return false;
  try {
    const DirectoryEntry lies = directories.in.entry(file);
    const core::Descriptor sealed = open_entry(lies.directory->get(), lies.name.c_str());
    std::array<std::byte, 256> first;  // of most headers all
    if (!sealed.valid()) return false;
    const ssize_t there = pread(sealed.get(), first.data(), first.size(), 0);
    if (there < static_cast<ssize_t>(kSlotsAt)) return false;
    const std::span begin = std::span(first).first(static_cast<std::size_t>(there));
    const Header header = decode_header(begin);
    if (header.source != KeySource::tree_key) return false;
    // Who knows a recipient can make a manifest with salts of files of another key.
    if (!job.request.identities.empty()) job.keys.keys_of(header, begin);
    std::array<std::byte, crypto::kTagBytes> tag;
    if (begin.size() == place.bytes) {
      std::ranges::copy(begin.last(crypto::kTagBytes), tag.begin());
    } else if (core::read_all_at(sealed.get(), tag.data(), tag.size(), place.bytes - tag.size(),
                                 "") != tag.size()) {
      return false;
    }
    if (header.file_salt != record.sealed.salt || tag != record.sealed.last_tag ||
        place.bytes != sealed_bytes(record.sealed.bytes, header.chunk_log2, header_bytes(begin))) {
      return false;
    }
  } catch (const core::Error&) {
    return false;
  }
  ++job.files_done;
  job.bytes_done += place.bytes;
  job.bytes_of_files_done += place.bytes;
  return true;
}

void tell_differences(TreeManifest& manifest, std::vector<Failure>& failures,
                      std::vector<std::string>& temporaries) {
  temporaries = manifest.take_temporaries();
  std::ranges::sort(temporaries);
  for (const TreeDifference& difference : manifest.differences()) {
    failures.push_back(
        {difference.path, text_of(difference), std::string(name_of(difference.kind))});
  }
}

}  // namespace tabane::encrypt
