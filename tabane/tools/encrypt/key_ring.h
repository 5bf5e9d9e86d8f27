// The keys of a run, and what they open: master keys of files of version 1, and keys of trees, by
// their slots.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tabane/crypto/keys.h"
#include "tabane/tools/encrypt/identity.h"
#include "tabane/tools/encrypt/key_slots.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {

// The job was asked to stop; no failure of the file.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

// What a run spends on parameters that a stranger may have written: nothing authenticates them
// before the key is derived.
struct DerivationLimits {
  std::uint64_t work = std::uint64_t{4}
                       << (3 + crypto::kPassphraseLog2N);  // N r p: four times our own
  std::uint64_t memory = std::uint64_t{1} << 30;           // bytes
  std::size_t sets = 4;                                    // of different parameters

  static DerivationLimits none();  // but those of the format
};

// What a run was given to open sealed files with; all of it lives as long as the ring.
struct OpeningKeys {
  const MasterKey* key = nullptr;  // of a key file
  const crypto::Passphrase* passphrase = nullptr;
  std::span<const Identity> identities = {};
};

// None of the keys that were given is one of those that a file is sealed for.
class WrongKey : public DamageError {
 public:
  // expected: "a key file, the recipient 0123456789abcdef"; empty: not known.
  WrongKey(std::string expected, std::uint64_t offset);

  const std::string& expected() const { return expected_; }

 private:
  std::string expected_;
};

// What became of the slots of a tree that a run tried to open.
struct SlotTrials {
  std::size_t tried = 0, of_others = 0;  // of others: for keys of another kind, or recipients
  std::vector<std::string> skipped;      // of each other one, why

  // "no slot opened: 2 tried, 1 for other keys, 3 skipped (a second slot ...)"
  std::string text() const;
};

class KeyRing {
 public:
  // stop_requested: looked at while a key is derived.
  explicit KeyRing(
      OpeningKeys keys, DerivationLimits limits = {},
      std::function<bool()> stop_requested = [] { return false; })
      : keys_(keys), limits_(limits), stop_requested_(std::move(stop_requested)) {}

  // Returns the key that a header of version 1 asks for; derives it the first time. Thread-safe.
  // throws: WrongKey if the header asks for a kind of key that was not given; DamageError if it
  // asks for more than the limits; Stopped: then the derivation, which nothing can interrupt, goes
  // on in a thread that the end of the process waits for, unless a signal ends it.
  const MasterKey& master_for(const Header& header);

  // Returns the passphrase by scrypt, which must be given; derives it the first time. Thread-safe.
  // at: where the parameters stand. throws: DamageError and Stopped as master_for().
  const MasterKey& stretched(const crypto::ScryptParameters& parameters,
                             std::uint64_t at = kSlotsAt);

  // Returns a tree's key if one of the keys opens one of its slots and `accepts` it; tries every
  // slot, as whoever can write to a tree can put others before the one that opens. trials: counts
  // them and notes what costs more than the limits; without it, that is thrown if no other slot
  // opens. Thread-safe. throws: as stretched().
  using Accepts = std::function<bool(const TreeKey&)>;
  std::optional<TreeKey> open(
      const TreeId& tree, std::span<const Slot> slots,
      const Accepts& accepts = [](const TreeKey&) { return true; }, SlotTrials* trials = nullptr);

  // Tries this key first for all files of the tree, before their own slots. To be called before
  // other threads use the ring, as is the next.
  void set_tree(const TreeId& tree, TreeKey key) {
    home_ = tree;
    home_key_ = std::make_shared<const TreeKey>(std::move(key));
  }

  // What set_tree() was given; null: nothing.
  const TreeKey* tree_key() const { return home_key_ ? &*home_key_ : nullptr; }
  const TreeId& tree() const { return home_; }

  // Says of files of the tree that do not open that they are sealed for these.
  void set_expected(const TreeId& tree, std::string expected) {
    home_ = tree;
    home_expected_ = std::move(expected);
  }

  // Returns the keys of a file by its header, which `encoded` begins with. Thread-safe, but for a
  // manifest: once its keys are given, files have to be of the same tree's key, and so of
  // version 2. Whoever knows a recipient can make a key, and a manifest that is sealed with it, and
  // put them into .tabane; but not change which key the files have. throws: WrongKey; DamageError
  // if the header is damaged; as stretched().
  FileKeys keys_of(const Header& header, std::span<const std::byte> encoded,
                   Content content = Content::file);

 private:
  std::string why_too_costly(const crypto::ScryptParameters& parameters) const;
  std::optional<TreeKey> open(const TreeId& tree, const Slot& slot, const Accepts& accepts);
  std::string why_skipped(const Slot& slot);
  bool is_for(const Slot& slot) const;
  MasterKey derive(const crypto::ScryptParameters& parameters) const;
  std::shared_ptr<const TreeKey> tree_key_of(const Header& header,
                                             std::span<const std::byte> encoded);
  FileKeys keys_of_tree(const Header& header, std::span<const std::byte> encoded, Content content);

  const OpeningKeys keys_;
  const DerivationLimits limits_;
  const std::function<bool()> stop_requested_;
  TreeId home_{};
  std::shared_ptr<const TreeKey> home_key_, manifest_key_;
  std::string home_expected_;
  std::mutex mutex_;  // of what follows
  std::map<crypto::ScryptParameters, MasterKey> derived_;
  std::mutex slots_mutex_;  // of what follows
  std::map<std::pair<TreeId, crypto::Sha256Sum>, std::shared_ptr<const TreeKey>>
      opened_;  // null: by no key
};

}  // namespace tabane::encrypt
