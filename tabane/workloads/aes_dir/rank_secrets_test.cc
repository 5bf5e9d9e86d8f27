#include "tabane/workloads/aes_dir/rank_secrets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tabane/core/error.h"

namespace tabane::workloads::aes_dir {
namespace {

struct Pair {
  Pair() {
    fill_random(secret.bytes());
    own = x25519_public(secret);
  }
  X25519Secret secret;
  X25519Public own{};
};

Request request_with_all() {
  Request request;
  fill_random(request.key.bytes());
  const std::string words = "thirty-three bytes of a passphrase";
  request.passphrase = Passphrase::of(std::as_bytes(std::span(words)));
  for (int i = 0; i < 2; ++i) {
    Identity& identity = request.identities.emplace_back();
    fill_random(identity.secret.bytes());
    identity.recipient = x25519_public(identity.secret);
  }
  return request;
}

TEST(RankSecrets, ComeBackWithThePair) {
  const Request sent = request_with_all();
  TreeKey tree;
  fill_random(tree.bytes());
  const Pair pair;
  const auto blocks = RankSecrets(sent, &tree).wrap(pair.own);
  Request got;
  got.has_key = false;
  const auto key = RankSecrets(blocks, pair.secret, pair.own).unpack(got);
  ASSERT_TRUE(key);
  EXPECT_TRUE(std::ranges::equal(key->bytes(), tree.bytes()));
  EXPECT_TRUE(got.has_key);
  EXPECT_TRUE(std::ranges::equal(got.key.bytes(), sent.key.bytes()));
  EXPECT_TRUE(std::ranges::equal(got.passphrase.bytes(), sent.passphrase.bytes()));
  ASSERT_EQ(got.identities.size(), 2u);
  EXPECT_EQ(got.identities[1].recipient, sent.identities[1].recipient);
}

TEST(RankSecrets, WithoutATreeThereIsNoTreeKey) {
  const Pair pair;
  Request got;
  EXPECT_FALSE(RankSecrets(RankSecrets(Request{}, nullptr).wrap(pair.own), pair.secret, pair.own)
                   .unpack(got));
  EXPECT_TRUE(got.passphrase.empty());
}

// Neither another pair nor blocks that have changed places.
TEST(RankSecrets, AreRefusedIfTheyWereChanged) {
  const Pair pair, other;
  auto blocks = RankSecrets(request_with_all(), nullptr).wrap(pair.own);
  EXPECT_THROW(RankSecrets(blocks, other.secret, other.own), core::Error);
  std::swap(blocks[1], blocks[3]);
  EXPECT_THROW(RankSecrets(blocks, pair.secret, pair.own), core::Error);
  std::swap(blocks[1], blocks[3]);
  blocks[2].wrapped[5] ^= std::byte{1};
  EXPECT_THROW(RankSecrets(blocks, pair.secret, pair.own), core::Error);
}

// What is sent shows none of them.
TEST(RankSecrets, DoNotStandInWhatIsSent) {
  const Request sent = request_with_all();
  const auto blocks = RankSecrets(sent, nullptr).wrap(Pair().own);
  const auto all = std::as_bytes(std::span(blocks));
  for (const auto secret :
       {std::span<const std::byte>(sent.key.bytes()), sent.passphrase.bytes().first(16)}) {
    EXPECT_TRUE(std::ranges::search(all, secret).empty());
  }
}

}  // namespace
}  // namespace tabane::workloads::aes_dir
