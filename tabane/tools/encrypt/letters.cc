#include "tabane/tools/encrypt/letters.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <span>
#include <thread>

#include "tabane/comm/collectives.h"

namespace tabane::encrypt {
namespace {

// Whole arrays of millions of files would stand in memory twice.
constexpr std::size_t kBlockBytes = std::size_t{4} << 20;

// From rank 0 to others, where it is empty.
template <class Value>
void share_array(GrowingArray<Value>& array, comm::Comm& ranks) {
  const bool sends = ranks.rank() == 0;
  std::uint64_t size = array.size();
  comm::broadcast(ranks, size, 0);
  std::vector<Value> block;
  for (std::uint64_t at = 0; at < size; at += block.size()) {
    block.resize(std::min<std::uint64_t>(kBlockBytes / sizeof(Value), size - at));
    if (sends) std::copy_n(array.data() + at, block.size(), block.data());
    comm::broadcast(ranks, block, 0);
    if (!sends) array.append(block.data(), block.size());
  }
}

void share_tree(Tree& tree, comm::Comm& ranks) {
  share_array(tree.directories, ranks);
  share_array(tree.files, ranks);
  share_array(tree.links, ranks);
  share_array(tree.names, ranks);
}

constexpr std::size_t kBlock = kTreeKeyBytes;

struct SecretsHead {
  std::uint32_t has_key = 0, has_tree_key = 0;
  std::uint64_t identities = 0, passphrase_bytes = 0, unused = 0;
};
static_assert(sizeof(SecretsHead) == kBlock);

// Blocks cannot change places: each is wrapped for a name of its own.
TreeId name_of_block(std::uint64_t number) {
  TreeId name{};
  std::memcpy(name.data(), &number, sizeof number);
  return name;
}

std::size_t blocks_of(std::size_t bytes) { return (bytes + kBlock - 1) / kBlock; }

}  // namespace

void RankMail::post(int to, int tag, team::Bytes text) {
  reap();
  Posted& posted = posted_.emplace_back(Posted{std::move(text), std::nullopt});
  posted.request.emplace(ranks_.isend(to, posted.text, tag));
}

void RankMail::reap() {
  std::erase_if(posted_, [](Posted& posted) { return !posted.request || posted.request->test(); });
}

std::optional<Letter> RankMail::take(int tag) {
  reap();
  const auto found = ranks_.probe<std::byte>(comm::any_source, tag);
  if (!found) return std::nullopt;
  Letter letter{found->source, team::Bytes(found->count)};
  ranks_.recv(found->source, letter.text, tag);
  return letter;
}

Letter RankMail::wait(int tag) {
  for (;;) {
    if (std::optional<Letter> letter = take(tag)) return std::move(*letter);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void RankMail::flush() {
  for (Posted& posted : posted_) {
    if (posted.request) posted.request->wait();
  }
  posted_.clear();
}

std::vector<unsigned> divide_pus(const std::vector<Hello>& ranks) {
  std::map<std::pair<std::string, unsigned>, std::vector<std::size_t>> holders;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const unsigned pu : ranks[rank].pus) holders[{ranks[rank].machine, pu}].push_back(rank);
  }
  std::vector<unsigned> own(ranks.size(), 0);
  for (const auto& [pu, who] : holders) {
    ++own[*std::ranges::min_element(who, {}, [&](std::size_t rank) { return own[rank]; })];
  }
  for (unsigned& pus : own) pus = std::max(1u, pus);
  return own;
}

void share(Trees& trees, comm::Comm& ranks) {
  share_tree(trees.tree, ranks);
  for (std::optional<Tree>* const other : {&trees.as_read, &trees.as_written}) {
    std::uint64_t is_there = other->has_value();
    comm::broadcast(ranks, is_there, 0);
    if (is_there != 0 && !*other) other->emplace();
    if (*other) share_tree(**other, ranks);
  }
}

RankSecrets::RankSecrets(const Request& request, const TreeKey* tree)
    : memory_(kBlock *
              (3 + request.identities.size() + blocks_of(request.passphrase.bytes().size()))) {
  const SecretsHead head{.has_key = request.has_key,
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

RankSecrets::RankSecrets(const std::vector<Slot>& blocks, const crypto::X25519Secret& secret,
                         const crypto::X25519Public& own)
    : memory_(kBlock * blocks.size()) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::optional<TreeKey> block;
    if (blocks[i].kind == SlotKind::x25519) {
      block = open_slot(blocks[i], name_of_block(i), secret, own);
    }
    if (!block) throw core::Error("the keys that rank 0 has sent were changed on their way");
    std::ranges::copy(block->bytes(), memory_.bytes().subspan(i * kBlock, kBlock).begin());
  }
}

std::vector<Slot> RankSecrets::wrap(const crypto::X25519Public& recipient) const {
  std::vector<Slot> blocks;
  TreeKey block;
  for (std::size_t i = 0; i < memory_.bytes().size() / kBlock; ++i) {
    std::ranges::copy(memory_.bytes().subspan(i * kBlock, kBlock), block.bytes().begin());
    blocks.push_back(slot_of_recipient(recipient, name_of_block(i), block));
  }
  return blocks;
}

std::optional<TreeKey> RankSecrets::unpack(Request& request) const {
  SecretsHead head;
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
