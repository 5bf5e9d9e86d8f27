#include "tabane/tools/encrypt/key_proof.h"

#include <fcntl.h>

#include <cerrno>
#include <span>
#include <string>
#include <vector>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/header_io.h"
#include "tabane/tools/encrypt/manifest_file.h"
#include "tabane/tools/encrypt/sealed_format.h"
#include "tabane/tools/encrypt/tree.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

constexpr int kOpenToRead = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

bool fits(std::span<const std::byte> bytes, const TreeId& tree, const TreeKey& key,
          Content content) {
  return keys_in_tree(decode_header(bytes), bytes, tree, key, content).has_value();
}

core::Descriptor open_manifest(int root) {
  return open_own_file(root, kManifestPath, kManifestPath);
}

// Calls each(header bytes, path) for the files of trees below `root`, in the order of a scan, until
// it returns true.
template <class Each>
void for_files_of_trees(int root, const Each& each) {
  const Tree found = scan(root, {}, Temporaries::leave_out, true);
  DirectoryOpener directories(found, root, false);
  for (const TreeFile& file : found.files) {
    try {
      const core::Descriptor opened(
          openat(directories.open(file.directory)->get(), found.name(file.name_at), kOpenToRead));
      if (!opened.valid()) continue;
      const std::string path = found.path(file);
      const std::vector<std::byte> bytes = read_header(opened.get(), path);
      if (decode_header(bytes).source == KeySource::tree_key && each(bytes, path)) return;
    } catch (const core::Error&) {
      continue;  // no sealed file, or one that cannot be read
    }
  }
}

}  // namespace

std::optional<FileKeys> keys_in_tree(const Header& header, std::span<const std::byte> encoded,
                                     const TreeId& tree, const TreeKey& key, Content content) {
  if (header.source != KeySource::tree_key || header.tree != tree) return std::nullopt;
  std::optional<FileKeys> keys = derive_file_keys(header, key, content);
  if (!key_fits(encoded.first<kHeaderBytes>(), *keys)) keys.reset();
  return keys;
}

std::optional<bool> fits_manifest(int root, const TreeId& tree, const TreeKey& key) {
  const core::Descriptor file = open_manifest(root);
  if (!file.valid()) return std::nullopt;
  try {
    return fits(read_header(file.get(), kManifestPath), tree, key, Content::manifest);
  } catch (const VersionError& error) {
    throw core::Error(std::string(kManifestPath) + ": " + error.what());
  } catch (const DamageError&) {
    return false;
  }
}

std::optional<bool> fits_files(int root, const TreeId& tree, const TreeKey& key) {
  std::optional<bool> fit;
  for_files_of_trees(root, [&](const auto& bytes, const auto&) {
    fit = fits(bytes, tree, key, Content::file);
    return true;
  });
  return fit;
}

std::optional<std::string> file_of_another_tree(int root, const TreeId& tree, const TreeKey& key) {
  std::optional<std::string> other;
  for_files_of_trees(root, [&](const auto& bytes, const auto& path) {
    if (!fits(bytes, tree, key, Content::file)) other = path;
    return other.has_value();
  });
  return other;
}

std::optional<TreeId> tree_of_manifest(int root) {
  const core::Descriptor file = open_manifest(root);
  if (!file.valid()) return std::nullopt;
  try {
    return decode_header(read_header(file.get(), kManifestPath)).tree;
  } catch (const DamageError&) {
    return std::nullopt;
  }
}

}  // namespace tabane::encrypt
