#include "tabane/tools/encrypt/tree_keys.h"

#include <gtest/gtest.h>

#include "tabane/tools/encrypt/slot_vectors_test.h"

namespace tabane::encrypt {
namespace {

using namespace vectors;

// Of tabane/tools/encrypt/sealed-format.md.
Bytes published() {
  return from_hex("54424e4b45595302" + hex(tree()) + hex(table_of_all()) +
                  "4874c6c48ca0fbebbcff4a7708547c12a9e8d26454b195f5156704c8354b8008");
}

std::uint64_t file_refused_at(const Bytes& bytes) {
  return damage_at([&] { decode_keys_file(bytes); }).value_or(bytes.size() + 1);
}

TEST(KeysFile, IsTheOneOfThePublishedVector) {
  const KeysFile file{.tree = tree(), .slots = decode_slots(table_of_all(), 0)};
  EXPECT_EQ(hex(encode_keys_file(file, tree_key())), hex(published()));
  EXPECT_EQ(decode_keys_file(published()), file);
  EXPECT_TRUE(mac_fits(published(), tree(), tree_key()));
}

TEST(KeysFile, HasNoMacThatFitsAnotherKey) {
  EXPECT_FALSE(mac_fits(published(), tree(), counting_key<TreeKey>(151)));
}

TEST(KeysFile, IsRefusedOrHasAWrongMacWhicheverBitIsFlipped) {
  for (std::size_t bit = 0; bit < 8 * published().size(); ++bit) {
    Bytes bad = published();
    flip(bad, bit);
    EXPECT_FALSE(mac_fits(bad, tree(), tree_key())) << bit;
  }
}

TEST(KeysFile, IsRefusedAtTheFieldThatCannotBe) {
  const auto with = [](std::size_t at, unsigned value) {
    Bytes bytes = published();
    bytes[at] = static_cast<std::byte>(value);
    return file_refused_at(bytes);
  };
  EXPECT_EQ(with(0, 'X'), 0u);
  EXPECT_EQ(with(6, 'X'), 0u);
  EXPECT_EQ(with(7, 1), 7u);
  EXPECT_EQ(with(25, 0), 24u);  // no slot
  EXPECT_EQ(with(26, 9), 26u);  // the kind of the first
  EXPECT_EQ(file_refused_at(Bytes(kMostOfKeysFile + 1, std::byte{'T'})), 0u);
  Bytes large = published();
  large.resize(kMostOfKeysFile + 1);
  EXPECT_EQ(file_refused_at(large), kMostOfKeysFile);
}

TEST(KeysFile, IsRefusedWhereverItIsCutShort) {
  const Bytes whole = published();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_LE(file_refused_at(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))),
              n);
  }
}

}  // namespace
}  // namespace tabane::encrypt
