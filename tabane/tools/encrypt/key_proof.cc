#include "tabane/tools/encrypt/key_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

// Calls each(found, file) for the sealed files of the tree below `root` until it returns true.
template <class Each>
void for_sealed_files(const Tree& tree, int root, const Each& each) {
  DirectoryOpener directories(tree, root, false);
  for (const TreeFile& file : tree.files) {
    try {
      const core::SharedDescriptor directory = directories.open(file.directory);
      const auto found = header_there(directory->get(), tree.name(file.name_at));
      if (found && each(*found, file)) return;
    } catch (const core::SystemError&) {
      continue;  // it is told when its turn comes
    }
  }
}

// The same for the files of trees of which a scan finds something below `root`.
template <class Each>
void for_files_of_trees(int root, const Each& each) {
  const Tree tree = scan(root, {}, Temporaries::leave_out, true);
  for_sealed_files(tree, root, [&](const FoundHeader& found, const TreeFile& file) {
    return found.header.source == KeySource::tree_key && each(found, tree.path(file));
  });
}

bool fits(const FoundHeader& found, const TreeId& tree, const TreeKey& key) {
  return keys_in_tree(found.header, found.bytes, tree, key).has_value();
}

FoundHeader header_of(int file, const char* name) {
  std::vector<std::byte> bytes = read_header(file, name);
  const Header header = decode_header(bytes);
  return {header, std::move(bytes)};
}

}  // namespace

std::optional<FoundHeader> header_there(int directory, const char* name) {
  const core::Descriptor file = open_entry(directory, name);
  if (!file.valid()) return std::nullopt;
  try {
    return header_of(file.get(), name);
  } catch (const core::Error&) {
    return std::nullopt;
  }
}

std::optional<FoundHeader> manifest_there(int root) {
  const core::Descriptor file = open_own_file(root, kManifestPath);
  return file.valid() ? std::optional(header_of(file.get(), kManifestPath)) : std::nullopt;
}

OpenedKeys open_keys(const FoundKeys& file, KeyRing& keys, const KeyRing::Accepts& belongs) {
  OpenedKeys opened;
  opened.key = keys.open(file.tree, file.found.slots, belongs, &opened.trials);
  if (!opened.key) {
    SlotTrials again;  // which derives nothing anew
    const auto any = [](const TreeKey&) { return true; };
    opened.key = keys.open(file.tree, file.found.slots, any, &again);
  }
  std::ranges::copy(file.found.unreadable, std::back_inserter(opened.trials.skipped));
  return opened;
}

std::optional<FileKeys> keys_in_tree(const Header& header, std::span<const std::byte> encoded,
                                     const TreeId& tree, const TreeKey& key, Content content) {
  if (header.source != KeySource::tree_key || header.tree != tree) return std::nullopt;
  std::optional<FileKeys> keys = derive_file_keys(header, key, content);
  if (!key_fits(encoded.first<kHeaderBytes>(), *keys)) keys.reset();
  return keys;
}

std::optional<bool> fits_manifest(int root, const TreeId& tree, const TreeKey& key) {
  try {
    const auto found = manifest_there(root);
    if (!found) return std::nullopt;
    return keys_in_tree(found->header, found->bytes, tree, key, Content::manifest).has_value();
  } catch (const VersionError& error) {
    throw core::Error(std::string(kManifestPath) + ": " + error.what());
  } catch (const DamageError&) {
    return false;
  }
}

std::optional<bool> fits_files(int root, const TreeId& tree, const TreeKey& key) {
  std::optional<bool> fit;
  for_files_of_trees(root, [&](const FoundHeader& found, const auto&) {
    fit = fits(found, tree, key);
    return true;
  });
  return fit;
}

std::optional<std::string> file_of_another_tree(int root, const TreeId& tree, const TreeKey& key) {
  std::optional<std::string> other;
  for_files_of_trees(root, [&](const FoundHeader& found, const std::string& path) {
    if (!fits(found, tree, key)) other = path;
    return other.has_value();
  });
  return other;
}

std::optional<TreeId> tree_of_manifest(int root) {
  try {
    const auto found = manifest_there(root);
    return found ? std::optional(found->header.tree) : std::nullopt;
  } catch (const DamageError&) {
    return std::nullopt;
  }
}

bool holds_sealed_files(const Tree& tree, int root, bool of_tree) {
  bool any = false;
  for_sealed_files(tree, root, [&](const FoundHeader& found, const TreeFile&) {
    return any = !of_tree || found.header.source == KeySource::tree_key;
  });
  return any;
}

std::optional<TreeId> other_tree_there(const Tree& tree, int root, const TreeId& id) {
  std::optional<TreeId> other;
  for_sealed_files(tree, root, [&](const FoundHeader& found, const TreeFile&) {
    if (found.header.source != KeySource::tree_key) return false;
    const bool is_of_this = found.header.tree == id;
    if (is_of_this) {
      other.reset();
    } else if (!other) {
      other = found.header.tree;
    }
    return is_of_this;
  });
  return other;
}

void require_key_fits(const Tree& tree, int root, const std::string& keys_problem, KeyRing& keys) {
  const bool single = tree.files.size() == 1;
  bool found = false, any = false;
  std::string reason;
  for_sealed_files(tree, root, [&](const FoundHeader& found_here, const TreeFile& file) {
    any = true;
    try {
      keys.keys_of(found_here.header, found_here.bytes);
      return found = true;
    } catch (const WrongKey& error) {
      reason = single
                   ? fmt::format("at byte {}: wrong key, or the header is damaged", error.offset())
                   : "wrong key: it does not fit";
      if (!keys_problem.empty()) {
        reason = fmt::format(
            "no file opens by its own slots, and {}, by which the key may be right, is of no use: "
            "{}",
            kKeysPath, keys_problem);
      }
      if (!error.expected().empty()) reason += "; it is sealed for " + error.expected();
    } catch (const core::Error& error) {
      reason = error.what();
    }
    if (single) reason = tree.path(file) + ": " + reason;
    return false;
  });
  if (found || !any) return;
  throw core::Error("{}; nothing was written", reason);
}

std::optional<TreeSeal> seal_of_files(const Tree& tree, int root, KeyRing& keys) {
  std::optional<TreeSeal> seal;
  for_sealed_files(tree, root, [&](const FoundHeader& found, const TreeFile&) {
    const Header& header = found.header;
    try {
      keys.keys_of(header, found.bytes);
    } catch (const WrongKey& error) {
      throw core::Error(
          "wrong key: it does not fit what is in OUT already{}{}; nothing was written",
          error.expected().empty() ? "" : ", which is sealed for ", error.expected());
    } catch (const DamageError&) {
      return false;  // it is made anew
    }
    if (header.source != KeySource::tree_key) return false;
    std::vector<Slot> slots = found.slots();
    if (auto key = keys.open(header.tree, slots)) {
      seal = make_seal(header.tree, std::move(*key), std::move(slots));
    }
    return seal.has_value();
  });
  return seal;
}

}  // namespace tabane::encrypt
