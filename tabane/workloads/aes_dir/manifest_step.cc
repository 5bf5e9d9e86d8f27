#include "tabane/workloads/aes_dir/manifest_step.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <span>

#include "tabane/workloads/aes_dir/output_manifest.h"
#include "tabane/workloads/aes_dir/restore_tree.h"

namespace tabane::workloads::aes_dir {
namespace {

constexpr const char* kWithout = "--without-manifest takes the files as they are";

[[noreturn]] void refuse_tree_without_manifest(const Request& request, const Tree& tree) {
  if (tree.own_directory) {
    throw core::Error(fmt::format(
        "IN ({}) has no manifest: its encryption was interrupted, and tabane encrypt --resume "
        "finishes it, or the manifest was removed; {}",
        request.in, kWithout));
  }
  throw core::Error(fmt::format(
      "IN ({}) has no manifest: it is a part of a sealed tree, or .tabane was removed; {}",
      request.in, kWithout));
}

[[noreturn]] void refuse_tree_being_changed(const Request& request) {
  throw core::Error(fmt::format(
      "IN ({}) is being changed, or a job that changed it was interrupted, and tabane encrypt "
      "--update or --resume finishes it; {}",
      request.in, kWithout));
}

void require_root(const Request& request, const Root& root) {
  if (!request.root || *request.root == root) return;
  throw core::Error(
      fmt::format("the root of IN ({}) is {}, not {}: the tree was replaced by another state of it",
                  request.in, text_of_root(root), text_of_root(*request.root)));
}

core::Descriptor temporary_directory() {
  const std::string path = std::filesystem::temp_directory_path();
  core::Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) throw core::SystemError("open", path, errno);
  return directory;
}

}  // namespace

std::unique_ptr<TreeManifest> manifest_of_input(const Request& request, const Places& places,
                                                KeyRing& keys) {
  const bool needed = request.quick || request.root;
  if (request.cipher != Cipher::aes_256_gcm || places.single_file || request.without_manifest) {
    if (!needed) return nullptr;
    throw core::UsageError("--quick and --root take a sealed directory and its manifest");
  }
  try {
    std::unique_ptr<TreeManifest> manifest = TreeManifest::open(places.in_root.get(), keys);
    if (!manifest) {
      if (needed || holds_files_of_trees(places.tree, places.in_root.get())) {
        refuse_tree_without_manifest(request, places.tree);
      }
      return nullptr;
    }
    if (is_being_changed(places.in_root.get())) refuse_tree_being_changed(request);
    manifest->hold_against(places.tree, request.excludes, temporary_directory().get());
    require_root(request, manifest->root());
    return manifest;
  } catch (const DamageError& error) {
    throw core::Error(fmt::format("{}: {}; {}", kManifestPath, error.what(), kWithout));
  }
}

bool looks_right(JobState& job, Directories& directories, std::uint32_t file) {
  const TreeFile& place = job.tree.files[file];
  const FileRecord record = job.manifest->expected(file);
  if (!record.known || place.bytes < kSlotsAt + kTagBytes) return false;
  try {
    const core::Descriptor sealed(openat(directories.in.open(place.directory)->get(),
                                         job.tree.name(place.name_at),
                                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    std::array<std::byte, 512> first;
    if (!sealed.valid()) return false;
    const ssize_t there = pread(sealed.get(), first.data(), first.size(), 0);
    if (there < static_cast<ssize_t>(kSlotsAt)) return false;
    const std::span begin = std::span(first).first(static_cast<std::size_t>(there));
    const Header header = decode_header(begin);
    std::array<std::byte, kTagBytes> tag;
    if (begin.size() == place.bytes) {
      std::ranges::copy(begin.last(kTagBytes), tag.begin());
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

void restore(JobState& job, bool made_root, std::vector<Failure>& failures) {
  const Request& request = job.request;
  restore_links_and_directories(*job.manifest, job.tree, request.excludes, job.out_root,
                                {.modes = job.modes,
                                 .replace_links = request.force || request.resume,
                                 .root_attributes = made_root},
                                failures);
}

}  // namespace tabane::workloads::aes_dir
