#include "tabane/tools/encrypt/key_slots.h"

#include <gtest/gtest.h>

#include "tabane/tools/encrypt/slot_vectors_test.h"

namespace tabane::encrypt {
namespace {

using namespace vectors;

constexpr std::uint64_t kAt = 100;  // where the table stands in its file

std::string opened(const std::optional<TreeKey>& key) {
  return key ? hex(key->bytes()) : "nothing";
}

const std::string kTreeKey = hex(tree_key().bytes());

MasterKey stretched() {
  return crypto::scrypt_key(from_text("a short passphrase"),
                            decode_slots(table_of_all(), 0)[1].scrypt);
}

std::string open_any(const Slot& slot, const TreeId& id) {
  if (slot.kind == SlotKind::key_file) return opened(open_slot(slot, id, master()));
  if (slot.kind == SlotKind::passphrase) return opened(open_slot(slot, id, stretched()));
  return opened(open_slot(slot, id, secret(), crypto::x25519_public(secret())));
}

// The offset that is refused, or 0 if none is.
std::uint64_t slots_refused_at(const Bytes& table) {
  return damage_at([&] { decode_slots(table, kAt); }).value_or(0);
}

TEST(Slots, OfThePublishedVectorsOpen) {
  const std::vector<Slot> slots = decode_slots(table_of_all(), 0);
  ASSERT_EQ(slots.size(), 3u);
  EXPECT_EQ(text_of(slots[2].recipient), "f35e5616160a30bf");
  EXPECT_EQ(text_of(fingerprint_of(crypto::x25519_public(secret()))), "f35e5616160a30bf");
  for (const Slot& slot : slots) EXPECT_EQ(open_any(slot, tree()), kTreeKey);
}

TEST(Slots, ComeBackAsTheyWereWritten) {
  EXPECT_EQ(encode_slots(decode_slots(table_of_all(), 0)), table_of_all());
  const std::vector<Slot> most(kMostSlots, decode_slots(table_of_all(), 0)[2]);
  const Bytes table = encode_slots(most);
  EXPECT_LE(table.size(), std::size_t{64} << 10);
  EXPECT_EQ(decode_slots(table, 0), most);
}

TEST(Slots, ThatAreMadeOpenAndDifferEachTime) {
  const crypto::ScryptParameters scrypt{.log2_n = 10, .r = 8, .p = 1, .salt = {}};
  const MasterKey word = crypto::scrypt_key(from_text("a short passphrase"), scrypt);
  const Slot file = slot_of_key_file(master(), tree(), tree_key());
  const Slot phrase = slot_of_passphrase(word, scrypt, tree(), tree_key());
  const Slot pair = slot_of_recipient(crypto::x25519_public(secret()), tree(), tree_key());
  EXPECT_EQ(opened(open_slot(file, tree(), master())), kTreeKey);
  EXPECT_EQ(opened(open_slot(phrase, tree(), word)), kTreeKey);
  EXPECT_EQ(open_any(pair, tree()), kTreeKey);
  EXPECT_NE(slot_of_key_file(master(), tree(), tree_key()).wrapped, file.wrapped);
  EXPECT_NE(slot_of_recipient(crypto::x25519_public(secret()), tree(), tree_key()).ephemeral,
            pair.ephemeral);
}

TEST(Slots, DoNotOpenWithAnotherKeyOrForAnotherTree) {
  const std::vector<Slot> slots = decode_slots(table_of_all(), 0);
  TreeId other_tree = tree();
  other_tree[15] ^= std::byte{1};
  for (const Slot& slot : slots) EXPECT_EQ(open_any(slot, other_tree), "nothing");
  const auto other = counting_key<MasterKey>(1);
  EXPECT_EQ(opened(open_slot(slots[0], tree(), other)), "nothing");
  EXPECT_EQ(opened(open_slot(slots[1], tree(), other)), "nothing");
  const auto stranger = counting_key<crypto::X25519Secret>(1);
  EXPECT_EQ(opened(open_slot(slots[2], tree(), stranger, crypto::x25519_public(stranger))),
            "nothing");
  Slot of_other_kind = slots[0];
  of_other_kind.kind = SlotKind::passphrase;
  EXPECT_EQ(opened(open_slot(of_other_kind, tree(), master())), "nothing");
}

TEST(Slots, AreRefusedOrDoNotOpenWhicheverBitIsFlipped) {
  const Bytes good = table_of_all();
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = good;
    flip(bad, bit);
    if (slots_refused_at(bad) != 0) continue;
    const std::vector<Slot> slots = decode_slots(bad, 0);
    bool all = true;
    for (std::size_t i = 0; i < slots.size() && all; ++i) {
      // Other parameters of scrypt are another key; deriving them all would take minutes.
      if (slots[i].kind == SlotKind::passphrase &&
          slots[i].wrapped == decode_slots(good, 0)[1].wrapped)
        continue;
      all = open_any(slots[i], tree()) == kTreeKey;
    }
    const std::size_t at = bit / 8;
    const std::size_t parameters = 2 + 67 + 3;
    EXPECT_EQ(all, at >= parameters && at < parameters + 19) << at;
  }
}

TEST(Slots, WithAnEphemeralKeyOfSmallOrderDoNotOpen) {
  Slot slot = decode_slots(table_of_all(), 0)[2];
  slot.ephemeral = {};
  EXPECT_EQ(open_any(slot, tree()), "nothing");
  EXPECT_THROW(slot_of_recipient({}, tree(), tree_key()), core::Error);
}

TEST(Slots, AreRefusedAtTheFieldThatCannotBe) {
  const std::string two_passphrases = "0002" + kPassphraseSlot + kPassphraseSlot;
  const auto scrypt = [](const std::string& parameters) {
    return "0001"
           "010043" +
           parameters + kPassphraseSlot.substr(12);
  };
  const struct {
    std::string what, table;
    std::uint64_t offset;
  } cases[] = {
      {"no slot", "0000", kAt},
      {"too many", "0101" + kFileSlot, kAt},
      {"an unknown kind",
       "0001"
       "03" +
           kFileSlot.substr(2),
       kAt + 2},
      {"too short for its kind",
       "0001"
       "00003f" +
           kFileSlot.substr(6),
       kAt + 3},
      {"too long for its kind",
       "0001"
       "000041" +
           kFileSlot.substr(6),
       kAt + 3},
      {"the length of another kind",
       "0001"
       "020040" +
           kFileSlot.substr(6),
       kAt + 3},
      {"log2 N too small", scrypt("090801"), kAt + 5},
      {"log2 N too large", scrypt("170801"), kAt + 5},
      {"r of 0", scrypt("0a0001"), kAt + 5},
      {"r too large", scrypt("0a2101"), kAt + 5},
      {"p of 0", scrypt("0a0800"), kAt + 5},
      {"p too large", scrypt("0a0811"), kAt + 5},
      {"N that r does not allow", scrypt("100101"), kAt + 5},
      {"two passphrases", two_passphrases, kAt + 2 + 70},
      {"bytes behind the slots", "0001" + kFileSlot + "00", kAt + 69},
      {"one slot less than said", "0002" + kFileSlot, kAt + 69},
  };
  for (const auto& one : cases)
    EXPECT_EQ(slots_refused_at(from_hex(one.table)), one.offset) << one.what;
}

TEST(Slots, AreRefusedWhereverTheyAreCutShort) {
  const Bytes good = table_of_all();
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_EQ(slots_refused_at(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n))),
              kAt + n);
  }
}

TEST(Slots, ThatCanBeReadAreFoundBesideThoseThatCannot) {
  const std::vector<Slot> good = decode_slots(table_of_all(), 0);
  const FoundSlots all = find_slots(table_of_all(), kAt);
  EXPECT_EQ(all.slots, good);
  EXPECT_TRUE(all.unreadable.empty());
  const std::string of_later_version = "7f0002abcd",
                    no_scrypt = "010043000801" + kPassphraseSlot.substr(12);
  const FoundSlots some = find_slots(from_hex("0001" + of_later_version + kPassphraseSlot +
                                              no_scrypt + kPassphraseSlot + kFileSlot),
                                     kAt);
  EXPECT_EQ(some.slots, (std::vector{good[1], good[1], good[0]}));
  ASSERT_EQ(some.unreadable.size(), 2u);
  EXPECT_TRUE(some.unreadable[0].starts_with("at byte 102: ")) << some.unreadable[0];
  const FoundSlots cut = find_slots(from_hex("0002" + kFileSlot + kPassphraseSlot.substr(2)), kAt);
  EXPECT_EQ(cut.slots, std::vector{good[0]});
  EXPECT_EQ(cut.unreadable.size(), 1u);
  const Bytes table = table_of_all();
  for (std::size_t n = 0; n < table.size(); ++n) {
    EXPECT_LE(find_slots(std::span(table).first(n), 0).slots.size(), 2u);
  }
}

TEST(Slots, AreDescribedByWhatOpensThem) {
  const std::vector<Slot> slots = decode_slots(table_of_all(), 0);
  EXPECT_EQ(describe({{slots[0]}}), "a key file");
  EXPECT_EQ(describe({{slots[1]}}), "a passphrase");
  EXPECT_EQ(describe({{slots[2]}}), "the recipient f35e5616160a30bf");
  EXPECT_EQ(describe(slots), "a key file, a passphrase and the recipient f35e5616160a30bf");
  EXPECT_EQ(describe({{slots[0], slots[0], slots[2], slots[2]}}),
            "any of 2 key files and the recipients f35e5616160a30bf and f35e5616160a30bf");
}

}  // namespace
}  // namespace tabane::encrypt
