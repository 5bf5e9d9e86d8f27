#include "tabane/tools/mine/bgv/records.h"

#include <openssl/evp.h>

#include <functional>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/material_test.h"

namespace tabane::mine::bgv {
namespace {

// What is thrown; "" if nothing.
std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "";
}

void expect_complaint(const std::function<void()>& act, const std::string& part) {
  const std::string said = complaint(act);
  EXPECT_NE(said.find(part), std::string::npos) << said;
}

// Makes the checksum right again, as somebody who forges a file would.
std::string sealed(std::string record) {
  const std::size_t checked = record.size() - kRecordTail;
  EVP_Digest(record.data(), checked, reinterpret_cast<unsigned char*>(record.data() + checked),
             nullptr, EVP_sha256(), nullptr);
  return record;
}

class BgvRecords : public testing::Test {
 protected:
  // A record of each kind, and how to load it.
  struct Case {
    std::string bytes;
    std::function<void(std::string_view)> load;
  };
  std::vector<Case> cases() const {
    const Context& context = *m_.context;
    return {
        {save(context.parameters()), [](std::string_view b) { load_parameters(b, "FILE", true); }},
        {save(m_.secret), [this](std::string_view b) { load_secret_key(b, "FILE", m_.context); }},
        {save(context, m_.keys),
         [&context](std::string_view b) { load_evaluation_keys(b, "FILE", context); }},
        {save(context, c_),
         [&context](std::string_view b) { load_ciphertext(b, "FILE", context); }},
        {save(context, seeded_),
         [&context](std::string_view b) { load_ciphertext(b, "FILE", context); }}};
  }

  const Material m_{toy(3, 32)};
  const Slots slots_ = m_.random(1);
  const Ciphertext c_ = m_.encrypt(slots_, 1), seeded_ = m_.encrypt_secretly(slots_, 2);
};

TEST_F(BgvRecords, RoundTrip) {
  const Context& context = *m_.context;
  EXPECT_EQ(load_parameters(save(context.parameters()), "FILE", true), context.parameters());
  const SecretKey secret = load_secret_key(save(m_.secret), "FILE", m_.context);
  EXPECT_EQ(secret.id(), m_.secret.id());
  EXPECT_TRUE(std::ranges::equal(secret.coefficients(), m_.secret.coefficients()));
  const EvaluationKeys keys = load_evaluation_keys(save(context, m_.keys), "FILE", context);
  EXPECT_EQ(keys.rotations.size(), m_.keys.rotations.size());
  const Evaluator evaluator(m_.context, &keys);
  const Slots turned = m_.decrypt(m_.evaluator.rotate(c_, 3));
  EXPECT_EQ(m_.encoder.decode(Decryptor(secret).decrypt(evaluator.rotate(c_, 3))), turned);
}

TEST_F(BgvRecords, CiphertextsOfAllKindsRoundTrip) {
  const Context& context = *m_.context;
  const Ciphertext product = m_.evaluator.multiply(c_, seeded_);
  for (const Ciphertext& c :
       {c_, seeded_, product, m_.evaluator.relinearise(product), m_.evaluator.switch_modulus(c_)}) {
    const Ciphertext back = load_ciphertext(save(context, c), "FILE", context);
    EXPECT_EQ(back.components(), c.components());
    EXPECT_EQ(back.primes(), c.primes());
    EXPECT_EQ(back.deviation, c.deviation);
    EXPECT_EQ(back.key, c.key);
    EXPECT_EQ(back.seed, c.seed);
    EXPECT_TRUE(std::ranges::equal(back.words(), c.words()));
  }
  EXPECT_LT(save(context, seeded_).size(), save(context, c_).size() * 2 / 3);
  // A view has no seed.
  EXPECT_EQ(save(context, CiphertextView(seeded_)).size(), save(context, c_).size());
}

TEST_F(BgvRecords, EveryFlippedBitIsFound) {
  for (const Case& each : cases()) {
    EXPECT_EQ(complaint([&] { each.load(each.bytes); }), "");
    const std::size_t step = std::max<std::size_t>(1, each.bytes.size() / 150);
    for (std::size_t at = 0; at < each.bytes.size(); at += at < 150 ? 1 : step) {
      std::string damaged = each.bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
      EXPECT_NE(complaint([&] { each.load(damaged); }), "") << at;
    }
  }
}

TEST_F(BgvRecords, EveryCutIsFound) {
  for (const Case& each : cases()) {
    for (const std::size_t kept : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{63},
                                   std::size_t{64}, each.bytes.size() / 2, each.bytes.size() - 1}) {
      EXPECT_NE(complaint([&] { each.load(each.bytes.substr(0, kept)); }), "") << kept;
    }
    expect_complaint([&] { each.load(each.bytes + "x"); }, "behind its end");
    expect_complaint([&] { each.load(each.bytes.substr(0, each.bytes.size() - 1)); },
                     "FILE: it is cut off");
  }
}

TEST_F(BgvRecords, SaysWhatIsWrong) {
  const std::vector<Case> all = cases();
  for (const Case& each : all) {
    std::string other = each.bytes;
    other[8] = 2;
    expect_complaint([&] { each.load(other); },
                     "FILE: it has format version 2; this program reads version 1");
    other = each.bytes;
    other[other.size() - 1] ^= 1;
    expect_complaint([&] { each.load(other); }, "FILE: it is damaged: its checksum is wrong");
  }
  expect_complaint([&] { all[1].load(all[3].bytes); }, "it holds a ciphertext, not a secret key");
  expect_complaint([&] { all[3].load("# fimi\n1 2 3\n"); }, "neither a key nor ciphertexts");
  const Material larger(toy(3, 64));
  expect_complaint([&] { load_ciphertext(all[3].bytes, "FILE", *larger.context); },
                   "made with other parameters");
}

// With a right checksum, the contents themselves are looked at.
TEST_F(BgvRecords, ForgedContentsAreFound) {
  const std::vector<Case> all = cases();
  const auto forged = [&](std::size_t which, std::size_t at, char value) {
    std::string bytes = all[which].bytes;
    bytes[at] = value;
    expect_complaint([&] { all[which].load(sealed(bytes)); }, "FILE: ");
  };
  forged(0, kRecordHead, 33);        // the degree
  forged(0, kRecordHead + 24, 99);   // the number of primes
  forged(1, kRecordHead, 2);         // not ternary
  forged(2, kRecordHead, 2);         // two relinearisation keys
  forged(2, kRecordHead + 16, 3);    // of another exponent
  forged(2, kRecordHead + 63, 127);  // a residue above its prime
  forged(3, kRecordHead, 4);         // components
  forged(3, kRecordHead + 8, 9);     // primes
  forged(3, kRecordHead + 16, 2);    // seeds
  forged(3, kRecordHead + 31, -1);   // a negative estimate
  forged(3, kRecordHead + 39, 127);  // a residue above its prime
  std::string longer = all[1].bytes;
  longer[56] = static_cast<char>(longer[56] + 1);
  longer.insert(longer.size() - kRecordTail, 1, '\0');
  expect_complaint([&] { all[1].load(sealed(longer)); }, "FILE: it is longer than its contents");
}

TEST_F(BgvRecords, InsecureParametersAreMarked) {
  const auto mark = [](const std::string& record) { return record[16] & 1; };
  for (const Case& each : cases()) EXPECT_EQ(mark(each.bytes), 1);
  const std::string record = save(m_.context->parameters());
  expect_complaint([&] { load_parameters(record, "FILE", false); }, "--insecure-parameters");
  const Parameters secure = parameters_for(1);
  EXPECT_EQ(mark(save(secure)), 0);
  EXPECT_EQ(load_parameters(save(secure), "FILE", false), secure);
}

}  // namespace
}  // namespace tabane::mine::bgv
