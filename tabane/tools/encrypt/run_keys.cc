#include "tabane/tools/encrypt/run_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tabane/tools/encrypt/key_proof.h"
#include "tabane/tools/encrypt/tree_home.h"

namespace tabane::encrypt {
namespace {

constexpr const char* kChanged = "it is damaged, or was changed by somebody without the tree's key";

std::string expected_of(const FoundKeys& file, const OpenedKeys& opened) {
  const std::string openers = describe(file.found.slots);
  return opened.trials.skipped.empty() ? openers
                                       : fmt::format("{} ({})", openers, opened.trials.text());
}

// The tree's key by the slots of its files, where those of .tabane/keys do not open: they are
// damaged, or the tree was sealed for others since.
std::optional<TreeKey> key_of_files(const Tree& found, int root, const TreeId& tree,
                                    KeyRing& keys) {
  std::optional<TreeSeal> seal;
  try {
    seal = seal_of_files(found, root, keys);
  } catch (const core::Error&) {
    return std::nullopt;  // it is told when all files have been tried
  }
  if (!seal || seal->header.tree != tree) return std::nullopt;
  return std::move(seal->key);
}

// Whoever knows a recipient can put a file of keys of his own there. throws: core::Error.
void require_keys_of_manifest(int root, const TreeId& tree, const std::optional<TreeKey>& key) {
  const std::optional<TreeId> wanted = tree_of_manifest(root);
  if (!wanted || (*wanted == tree && (!key || fits_manifest(root, tree, *key).value_or(true)))) {
    return;
  }
  throw core::Error(
      "it is of another tree than the manifest: one of the two was exchanged; if it was this one, "
      "remove it, and encrypt --resume writes it anew");
}

// Whether .tabane/keys is just this.
bool has_keys(int root, std::span<const std::byte> bytes) {
  const auto there = read_keys(root);
  return there && std::ranges::equal(*there, bytes);
}

// The tree that OUT has: by the slots of the files that IN has there or, where there are none, by
// those of the manifest. throws: core::Error if they do not open.
std::optional<TreeSeal> seal_there(const Tree& in, int out_root, KeyRing& keys) {
  if (auto seal = seal_of_files(in, out_root, keys)) return seal;
  std::optional<FoundHeader> manifest;
  std::vector<Slot> slots;
  try {
    manifest = manifest_there(out_root);
    if (!manifest || manifest->header.source != KeySource::tree_key) return std::nullopt;
    slots = manifest->slots();
  } catch (const DamageError&) {
    return std::nullopt;
  }
  auto key = keys.open(manifest->header.tree, slots);
  if (!key)
    throw core::Error("wrong key: it does not fit the manifest in OUT; nothing was written");
  return make_seal(manifest->header.tree, std::move(*key), std::move(slots));
}

// A tree whose key nothing tells gets no other one. throws: core::Error.
void require_no_tree(const Request& request, int out_root, const TreeSeal& seal) {
  const auto other = file_of_another_tree(out_root, seal.header.tree, seal.key);
  if (!other) return;
  throw core::Error(
      "OUT ({}): nothing that can be read there tells the key of {}; nothing was changed. Put back "
      "{} from a copy, or begin anew with --force",
      request.out, *other, kKeysPath);
}

// Where .tabane/keys was changed, the files in OUT have what it should have, unless the tree was
// rekeyed. why: none of its slots gives the tree's key; empty: one does, which is not to be relied
// on alone.
std::optional<TreeSeal> seal_beside_changed_keys(const Request& request, const Tree& in,
                                                 int out_root, std::span<const std::byte> bytes,
                                                 const std::string& why, KeyRing& keys) {
  std::optional<TreeSeal> seal;
  try {
    seal = seal_there(in, out_root, keys);
  } catch (const core::Error&) {
    if (!why.empty()) throw core::Error(why);
    throw core::Error(
        "OUT ({}): {}: {}; the key that was given opens it, but not the files by themselves, as "
        "the tree was rekeyed. Nothing was written; tabane rekey, without --add, writes {} anew",
        request.out, kKeysPath, kChanged, kKeysPath);
  }
  if (why.empty() || (seal && !mac_fits(bytes, seal->header.tree, seal->key))) return seal;
  throw core::Error(why);
}

std::optional<TreeSeal> seal_to_go_on_with(const Request& request, const Tree& in, int out_root,
                                           KeyRing& keys) {
  const std::optional<std::vector<std::byte>> bytes = read_keys(out_root);
  if (!bytes) return seal_there(in, out_root, keys);
  FoundKeys file;
  try {
    file = find_keys(*bytes);
  } catch (const DamageError&) {
    return seal_there(in, out_root, keys);
  }
  const auto has_mac = [&](const TreeKey& key) { return mac_fits(*bytes, file.tree, key); };
  OpenedKeys opened = open_keys(file, keys, has_mac);
  if (opened.key && has_mac(*opened.key) && file.found.unreadable.empty()) {
    return make_seal(file.tree, std::move(*opened.key), std::move(file.found.slots));
  }
  std::string why;
  if (!opened.key) {
    why = fmt::format(
        "wrong key: OUT ({}) is sealed for {}; --resume takes the key file or passphrase of OUT, "
        "--force begins anew",
        request.out, expected_of(file, opened));
  }
  return seal_beside_changed_keys(request, in, out_root, *bytes, why, keys);
}

// What is sealed from now on must be for those whom the tree is for.
void require_key_of_manifest(const Request& request, int out_root, const TreeSeal& seal) {
  if (fits_manifest(out_root, seal.header.tree, seal.key).value_or(true)) return;
  const std::optional<TreeId> listed = tree_of_manifest(out_root);
  const std::string why =
      listed && *listed != seal.header.tree
          ? fmt::format(
                "the one is of the tree with the id {}, the other of {}; one was exchanged, "
                "or a job with --force was stopped before it had replaced both",
                crypto::hexadecimal(seal.header.tree), crypto::hexadecimal(*listed))
          : std::string("one of them was exchanged or is damaged");
  throw core::Error(
      "OUT ({}): the key in {} does not fit {}: {}; nothing was changed. Put back the tree's own "
      "from a copy, or begin anew with --force",
      request.out, kKeysPath, kManifestPath, why);
}

void require_recipients(const Request& request, const TreeSeal& seal) {
  for (const Recipient& recipient : request.recipients) {
    const Fingerprint name = fingerprint_of(recipient);
    if (std::ranges::find(seal.slots, name, &Slot::recipient) != seal.slots.end()) continue;
    throw core::UsageError(
        "OUT ({}) is not sealed for the recipient {}; tabane rekey changes who can open a tree",
        request.out, text_of(recipient));
  }
}

}  // namespace

KeyRing ring_of(const Request& request, const Hooks& hooks) {
  OpeningKeys keys{.key = nullptr, .passphrase = nullptr, .identities = request.identities};
  if (!request.passphrase.empty()) {
    keys.passphrase = &request.passphrase;
  } else if (request.has_key) {
    keys.key = &request.key;
  }
  return KeyRing(keys,
                 request.allow_costly_passphrase ? DerivationLimits::none() : DerivationLimits{},
                 hooks.stop_requested);
}

TreeSeal seal_of_new_tree(const Request& request, KeyRing& keys) {
  Openers openers;
  openers.recipients = request.recipients;
  if (!request.passphrase.empty()) {
    openers.scrypt = crypto::fresh_scrypt_parameters(request.passphrase_log2_n);
    openers.stretched = &keys.stretched(openers.scrypt);
  } else if (request.has_key) {
    openers.key = &request.key;
  }
  return make_new_seal(openers);
}

TreeSeal seal_for_file(const Request& request, const Tree& written, int out_root, KeyRing& keys) {
  std::optional<TreeSeal> found;
  if (request.resume) found = seal_of_files(written, out_root, keys);
  if (!found) return seal_of_new_tree(request, keys);
  require_recipients(request, *found);
  return std::move(*found);
}

TreeSeal seal_for_tree(const Request& request, const Tree& in, int out_root, KeyRing& keys) {
  std::optional<TreeSeal> found;
  if (request.resume) found = seal_to_go_on_with(request, in, out_root, keys);
  if (found) require_key_of_manifest(request, out_root, *found);
  if (found) require_recipients(request, *found);
  TreeSeal seal = found ? std::move(*found) : seal_of_new_tree(request, keys);
  if (!found && request.resume) require_no_tree(request, out_root, seal);
  if (request.dry_run) return seal;
  const auto bytes = encode_keys_file({seal.header.tree, seal.slots}, seal.key);
  // --force replaces the keys before the manifest goes: a kill between leaves two that do not fit
  // each other, which no job goes on with. An older tree's keys without its manifest would look
  // like a first encryption that was interrupted.
  if (!found || !has_keys(out_root, bytes)) write_keys(out_root, bytes, request.fsync);
  return seal;
}

void use_keys_file(const Tree& found, int root, bool has_manifest, KeyRing& keys,
                   std::vector<Failure>& failures) {
  try {
    const auto bytes = read_keys(root);
    if (!bytes) {
      if (!has_manifest || !tree_of_manifest(root)) return;
      throw core::Error("it is missing; encrypt --resume writes it anew");
    }
    const FoundKeys file = find_keys(*bytes);
    const auto has_mac = [&](const TreeKey& key) { return mac_fits(*bytes, file.tree, key); };
    OpenedKeys opened = open_keys(file, keys, [&](const TreeKey& key) {
      if (has_manifest) return fits_manifest(root, file.tree, key).value_or(true);
      return has_mac(key) || fits_files(root, file.tree, key).value_or(true);
    });
    if (has_manifest) require_keys_of_manifest(root, file.tree, opened.key);
    const bool by_its_slots = opened.key.has_value();
    if (!by_its_slots) opened.key = key_of_files(found, root, file.tree, keys);
    if (!opened.key) return keys.set_expected(file.tree, expected_of(file, opened));
    const bool whole = has_mac(*opened.key);
    if (whole || by_its_slots) keys.set_tree(file.tree, std::move(*opened.key));
    if (!whole) throw core::Error(kChanged);
  } catch (const core::Error& error) {
    failures.push_back({kKeysPath, error.what()});
  }
}

}  // namespace tabane::encrypt
