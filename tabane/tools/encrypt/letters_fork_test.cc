#include "tabane/tools/encrypt/letters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"

namespace tabane::encrypt {
namespace {

// A salt that is not there is not sent either: its bytes would be those of other memory.
TEST(Report, HasNoBytesOfASaltThatIsMissing) {
  const Salt salt{std::byte{1}, std::byte{2}};
  const auto encoded = [](const Misfit& misfit) {
    return encode(Report{.differences = {{7, misfit}}});
  };
  const Letter with{.text = encoded({Difference::rolled_back, salt})};
  const Letter without{.text = encoded({Difference::added})};
  EXPECT_EQ(with.text.size(), without.text.size() + salt.size());

  const auto [file, misfit] = with.as<Report>().differences.at(0);
  EXPECT_EQ(file, 7u);
  EXPECT_EQ(misfit.kind, Difference::rolled_back);
  EXPECT_EQ(misfit.salt, salt);
  const Misfit other = without.as<Report>().differences.at(0).second;
  EXPECT_EQ(other.kind, Difference::added);
  EXPECT_FALSE(other.salt);
}

Identity drawn() {
  Identity identity;
  crypto::fill_random(identity.secret.bytes());
  identity.recipient = crypto::x25519_public(identity.secret);
  return identity;
}

Request request_with_all() {
  Request request;
  crypto::fill_random(request.key.bytes());
  const std::string words = "thirty-three bytes of a passphrase";
  request.passphrase = crypto::Passphrase::of(std::as_bytes(std::span(words)));
  for (int i = 0; i < 2; ++i) request.identities.push_back(drawn());
  return request;
}

TEST(RankSecrets, ComeBackWithThePair) {
  const Request sent = request_with_all();
  TreeKey tree;
  crypto::fill_random(tree.bytes());
  const Identity pair = drawn();
  const auto blocks = RankSecrets(sent, &tree).wrap(pair.recipient);
  Request got;
  got.has_key = false;
  const auto key = RankSecrets(blocks, pair.secret, pair.recipient).unpack(got);
  ASSERT_TRUE(key);
  EXPECT_TRUE(std::ranges::equal(key->bytes(), tree.bytes()));
  EXPECT_TRUE(got.has_key);
  EXPECT_TRUE(std::ranges::equal(got.key.bytes(), sent.key.bytes()));
  EXPECT_TRUE(std::ranges::equal(got.passphrase.bytes(), sent.passphrase.bytes()));
  ASSERT_EQ(got.identities.size(), 2u);
  EXPECT_EQ(got.identities[1].recipient, sent.identities[1].recipient);
}

TEST(RankSecrets, WithoutATreeThereIsNoTreeKey) {
  const Identity pair = drawn();
  Request got;
  EXPECT_FALSE(
      RankSecrets(RankSecrets(Request{}, nullptr).wrap(pair.recipient), pair.secret, pair.recipient)
          .unpack(got));
  EXPECT_TRUE(got.passphrase.empty());
}

// Neither another pair nor blocks that have changed places.
TEST(RankSecrets, AreRefusedIfTheyWereChanged) {
  const Identity pair = drawn(), other = drawn();
  auto blocks = RankSecrets(request_with_all(), nullptr).wrap(pair.recipient);
  EXPECT_THROW(RankSecrets(blocks, other.secret, other.recipient), core::Error);
  std::swap(blocks[1], blocks[3]);
  EXPECT_THROW(RankSecrets(blocks, pair.secret, pair.recipient), core::Error);
  std::swap(blocks[1], blocks[3]);
  blocks[2].wrapped[5] ^= std::byte{1};
  EXPECT_THROW(RankSecrets(blocks, pair.secret, pair.recipient), core::Error);
}

// What is sent shows none of them.
TEST(RankSecrets, DoNotStandInWhatIsSent) {
  const Request sent = request_with_all();
  const auto blocks = RankSecrets(sent, nullptr).wrap(drawn().recipient);
  const auto all = std::as_bytes(std::span(blocks));
  for (const auto secret :
       {std::span<const std::byte>(sent.key.bytes()), sent.passphrase.bytes().first(16)}) {
    EXPECT_TRUE(std::ranges::search(all, secret).empty());
  }
}

}  // namespace
}  // namespace tabane::encrypt
