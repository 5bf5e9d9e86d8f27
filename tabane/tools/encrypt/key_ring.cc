#include "tabane/tools/encrypt/key_ring.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <limits>
#include <thread>

#include "tabane/crypto/openssl.h"

namespace tabane::encrypt {
namespace {

constexpr std::size_t kVersionByte = 7, kSourceAt = 9, kParametersAt = 11;  // in the header
constexpr std::size_t kCheckAt = kHeaderBytes - kKeyCheckBytes;

// Threads that nobody waits for, until the process ends: then they must not use the crypto library
// while it cleans up. A process that is ended by a signal waits for nothing.
class LeftAlone {
 public:
  static void keep(std::thread thread) {
    static LeftAlone all;
    const std::lock_guard lock(all.mutex_);
    all.threads_.push_back(std::move(thread));
  }
  ~LeftAlone() {
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  // What is initialised first is cleaned up last.
  LeftAlone() { crypto::require(OPENSSL_init_crypto(0, nullptr) == 1, "its start"); }

  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace

WrongKey::WrongKey(std::string expected, std::uint64_t offset)
    : DamageError(
          expected.empty()
              ? "the key does not fit, or the header is damaged"
              : fmt::format("no key that was given opens it: it is sealed for {}", expected),
          offset),
      expected_(std::move(expected)) {}

DerivationLimits DerivationLimits::none() {
  constexpr auto kAny = std::numeric_limits<std::uint64_t>::max();
  return {.work = kAny, .memory = kAny, .sets = std::numeric_limits<std::size_t>::max()};
}

std::string SlotTrials::text() const {
  std::string text = fmt::format("no slot opened: {} tried", tried);
  if (of_others > 0) text += fmt::format(", {} for other keys", of_others);
  if (skipped.empty()) return text;
  const bool alike = std::ranges::count(skipped, skipped.front()) == std::ssize(skipped);
  return text + fmt::format(", {} skipped ({}{})", skipped.size(),
                            alike ? "" : "the first: ", skipped.front());
}

// Of parameters that were not derived yet; empty: they are within the limits.
std::string KeyRing::why_too_costly(const crypto::ScryptParameters& s) const {
  if (s.work() > limits_.work || s.memory() > limits_.memory) {
    return fmt::format(
        "it asks for a costly derivation of the key (N = 2^{}, r = {}, p = {}, {} MiB of memory), "
        "and may be damaged or malicious; if it is neither, --allow-costly-passphrase derives it",
        s.log2_n, s.r, s.p, s.memory() >> 20);
  }
  if (derived_.size() >= limits_.sets) {
    return fmt::format(
        "{} sets of scrypt parameters were tried already, each of which costs a derivation of the "
        "key; --allow-costly-passphrase derives them all",
        limits_.sets);
  }
  return {};
}

MasterKey KeyRing::derive(const crypto::ScryptParameters& parameters) const {
  using Derivation = std::packaged_task<MasterKey()>;
  auto copy =
      std::make_shared<const crypto::Passphrase>(crypto::Passphrase::of(keys_.passphrase->bytes()));
  Derivation derivation(
      [copy, parameters] { return crypto::scrypt_key(copy->bytes(), parameters); });
  std::future<MasterKey> result = derivation.get_future();
  std::thread thread(std::move(derivation));
  while (result.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (!stop_requested_()) continue;
    LeftAlone::keep(std::move(thread));
    throw Stopped();
  }
  thread.join();
  return result.get();
}

const MasterKey& KeyRing::master_for(const Header& header) {
  const bool file = header.source == KeySource::key_file;
  if (file && keys_.key) return *keys_.key;
  if (file || !keys_.passphrase) throw WrongKey(file ? "a key file" : "a passphrase", kSourceAt);
  return stretched(header.scrypt, kParametersAt);
}

const MasterKey& KeyRing::stretched(const crypto::ScryptParameters& parameters, std::uint64_t at) {
  TABANE_ASSERT(keys_.passphrase != nullptr);
  const std::lock_guard lock(mutex_);
  const auto found = derived_.find(parameters);
  if (found != derived_.end()) return found->second;
  if (const std::string why = why_too_costly(parameters); !why.empty()) throw DamageError(why, at);
  if (stop_requested_()) throw Stopped();
  return derived_.emplace(parameters, derive(parameters)).first->second;
}

bool KeyRing::is_for(const Slot& slot) const {
  if (slot.kind == SlotKind::key_file) return keys_.key != nullptr;
  if (slot.kind == SlotKind::passphrase) return keys_.passphrase != nullptr;
  return std::ranges::any_of(keys_.identities, [&](const Identity& identity) {
    return fingerprint_of(identity.recipient) == slot.recipient;
  });
}

std::string KeyRing::why_skipped(const Slot& slot) {
  if (slot.kind != SlotKind::passphrase) return {};
  const std::lock_guard lock(mutex_);
  return derived_.contains(slot.scrypt) ? "" : why_too_costly(slot.scrypt);
}

std::optional<TreeKey> KeyRing::open(const TreeId& tree, const Slot& slot, const Accepts& accepts) {
  std::optional<TreeKey> key;
  if (slot.kind == SlotKind::key_file) key = open_slot(slot, tree, *keys_.key);
  if (slot.kind == SlotKind::passphrase) key = open_slot(slot, tree, stretched(slot.scrypt));
  for (const Identity& identity : keys_.identities) {
    if (slot.kind != SlotKind::x25519 || key) break;
    if (fingerprint_of(identity.recipient) != slot.recipient) continue;
    key = open_slot(slot, tree, identity.secret, identity.recipient);
  }
  if (key && !accepts(*key)) key.reset();
  return key;
}

std::optional<TreeKey> KeyRing::open(const TreeId& tree, std::span<const Slot> slots,
                                     const Accepts& accepts, SlotTrials* trials) {
  SlotTrials here;
  for (const Slot& slot : slots) {
    if (!is_for(slot)) {
      ++here.of_others;
    } else if (std::string why = why_skipped(slot); !why.empty()) {
      here.skipped.push_back(std::move(why));
    } else {
      ++here.tried;
      if (auto key = open(tree, slot, accepts)) return key;
    }
  }
  if (!trials && !here.skipped.empty()) throw DamageError(here.skipped.front(), kSlotsAt);
  if (trials) *trials = std::move(here);
  return std::nullopt;
}

// Each table of slots is opened once, whether a key fits it or not.
std::shared_ptr<const TreeKey> KeyRing::tree_key_of(const Header& header,
                                                    std::span<const std::byte> encoded) {
  constexpr std::size_t kMostKept = 4096;
  const auto table = encoded.subspan(kSlotsAt, header.slots_bytes);
  const std::lock_guard lock(slots_mutex_);
  const std::pair name(header.tree, header.slots_digest);
  auto found = opened_.find(name);
  if (found == opened_.end()) {
    auto key = open(header.tree, decode_slots(table, kSlotsAt));
    if (opened_.size() >= kMostKept) opened_.clear();
    found = opened_.emplace(name, key ? std::make_shared<const TreeKey>(std::move(*key)) : nullptr)
                .first;
  }
  if (found->second) return found->second;
  if (header.tree == home_ && !home_expected_.empty()) throw WrongKey(home_expected_, kSlotsAt);
  throw WrongKey(describe(decode_slots(table, kSlotsAt)), kSlotsAt);
}

FileKeys KeyRing::keys_of_tree(const Header& header, std::span<const std::byte> encoded,
                               Content content) {
  FileKeys keys;
  const auto fits = [&](const std::shared_ptr<const TreeKey>& key) {
    keys = derive_file_keys(header, *key, content);
    if (!key_fits(encoded.first<kHeaderBytes>(), keys)) return false;
    if (content == Content::manifest) manifest_key_ = key;
    return true;
  };
  if (manifest_key_ && content == Content::file) {
    if (fits(manifest_key_)) return keys;
    throw DamageError("it has not the key of the tree's manifest, or its header is damaged",
                      kCheckAt);
  }
  if (home_key_ && header.tree == home_ && fits(home_key_)) return keys;
  if (fits(tree_key_of(header, encoded))) return keys;
  throw DamageError("the header is damaged", kCheckAt);
}

FileKeys KeyRing::keys_of(const Header& header, std::span<const std::byte> encoded,
                          Content content) {
  if (header.source == KeySource::tree_key) return keys_of_tree(header, encoded, content);
  if (manifest_key_)
    throw DamageError("sealed in version 1, whose files no manifest has", kVersionByte);
  FileKeys keys = derive_file_keys(header, master_for(header), content);
  if (key_fits(encoded.first<kHeaderBytes>(), keys)) return keys;
  throw WrongKey("", kCheckAt);
}

}  // namespace tabane::encrypt
