#include "tabane/tools/encrypt/rank_secrets.h"

#include <algorithm>
#include <cstring>

#include "tabane/tools/encrypt/key_slots.h"

namespace tabane::encrypt {
namespace {

constexpr std::size_t kBlock = kTreeKeyBytes;

struct Head {
  std::uint32_t has_key = 0, has_tree_key = 0;
  std::uint64_t identities = 0, passphrase_bytes = 0, unused = 0;
};
static_assert(sizeof(Head) == kBlock);

// Blocks cannot change places: each is wrapped for a name of its own.
TreeId name_of_block(std::uint64_t number) {
  TreeId name{};
  std::memcpy(name.data(), &number, sizeof number);
  return name;
}

std::size_t blocks_of(std::size_t bytes) { return (bytes + kBlock - 1) / kBlock; }

}  // namespace

RankSecrets::RankSecrets(const Request& request, const TreeKey* tree)
    : memory_(kBlock *
              (3 + request.identities.size() + blocks_of(request.passphrase.bytes().size()))) {
  const Head head{.has_key = request.has_key,
                  .has_tree_key = tree != nullptr,
                  .identities = request.identities.size(),
                  .passphrase_bytes = request.passphrase.bytes().size()};
  std::byte* at = memory_.bytes().data();
  const auto put = [&](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(at, from, bytes);
    at += kBlock;
  };
  put(&head, sizeof head);
  put(request.key.bytes().data(), kBlock);
  put(tree ? tree->bytes().data() : nullptr, tree ? kBlock : 0);
  for (const Identity& identity : request.identities) {
    put(identity.secret.bytes().data(), kBlock);
  }
  std::ranges::copy(request.passphrase.bytes(), at);
}

RankSecrets::RankSecrets(const std::vector<WrappedBlock>& blocks,
                         const crypto::X25519Secret& secret, const crypto::X25519Public& own)
    : memory_(kBlock * blocks.size()) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Slot slot{.kind = SlotKind::x25519,
              .ephemeral = blocks[i].ephemeral,
              .recipient = fingerprint_of(own),
              .wrapped = blocks[i].wrapped};
    const std::optional<TreeKey> block = open_slot(slot, name_of_block(i), secret, own);
    if (!block) throw core::Error("the keys that rank 0 has sent were changed on their way");
    std::ranges::copy(block->bytes(), memory_.bytes().subspan(i * kBlock, kBlock).begin());
  }
}

std::vector<WrappedBlock> RankSecrets::wrap(const crypto::X25519Public& recipient) const {
  std::vector<WrappedBlock> blocks;
  TreeKey block;
  for (std::size_t i = 0; i < memory_.bytes().size() / kBlock; ++i) {
    std::ranges::copy(memory_.bytes().subspan(i * kBlock, kBlock), block.bytes().begin());
    const Slot slot = slot_of_recipient(recipient, name_of_block(i), block);
    blocks.push_back({slot.ephemeral, slot.wrapped});
  }
  return blocks;
}

std::optional<TreeKey> RankSecrets::unpack(Request& request) const {
  Head head;
  const std::span<const std::byte> all = memory_.bytes();
  if (all.size() < 3 * kBlock) throw core::Error("rank 0 has sent no keys");
  std::memcpy(&head, all.data(), sizeof head);
  std::size_t block = 1;
  const auto take = [&](std::span<std::byte> into) {
    std::ranges::copy(all.subspan(block++ * kBlock, kBlock), into.begin());
  };
  request.has_key = head.has_key != 0;
  take(request.key.bytes());
  TreeKey tree;
  take(tree.bytes());
  request.identities.clear();
  for (std::uint64_t i = 0; i < head.identities; ++i) {
    Identity& identity = request.identities.emplace_back();
    take(identity.secret.bytes());
    identity.recipient = crypto::x25519_public(identity.secret);
  }
  request.passphrase = crypto::Passphrase::of(all.subspan(block * kBlock, head.passphrase_bytes));
  if (head.has_tree_key == 0) return std::nullopt;
  return tree;
}

}  // namespace tabane::encrypt
