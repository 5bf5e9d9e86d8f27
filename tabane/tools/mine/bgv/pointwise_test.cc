#include "tabane/tools/mine/bgv/pointwise.h"

#include <functional>

#include "tabane/tools/mine/bgv/material_test.h"

namespace tabane::mine::bgv {
namespace {

const std::vector<std::uint64_t> kModuli = {2, 3, 17, 65537, (std::uint64_t{1} << 50) - 27};

// Residues with the extremes among them.
Words residues(std::size_t n, std::uint64_t p, std::uint64_t start) {
  Words words = random_residues(n, p, start);
  if (n > 0) words[0] = start % 2 == 0 ? p - 1 : 0;
  if (n > 1) words[1] = p - 1;
  if (n > 2) words[2] = p / 2;
  return words;
}

using Operation = std::function<void(const Modulus&, ConstResidues, ConstResidues, Residues)>;

void expect_same(const Operation& fast, const Operation& plain) {
  for (const std::uint64_t p : kModuli) {
    const Modulus m(p);
    for (const std::size_t n : {0u, 1u, 7u, 8u, 33u, 100u}) {
      const Words a = residues(n, p, 2), b = residues(n, p, 4), old = residues(n, p, 6);
      Words expected = old;
      plain(m, a, b, expected);
      on_every_target([&] {
        Words out = old;
        fast(m, a, b, out);
        EXPECT_EQ(out, expected) << p << ' ' << n;
      });
    }
  }
}

TEST(BgvPointwise, AddsAndSubtracts) {
  expect_same(add, add_reference);
  expect_same(subtract, subtract_reference);
}

TEST(BgvPointwise, Multiplies) {
  expect_same(multiply, multiply_reference);
  expect_same(multiply_add, multiply_add_reference);
}

TEST(BgvPointwise, Scales) {
  for (const std::uint64_t which : {0, 1, 2, 3}) {
    const auto factor = [which](const Modulus& m) {
      return std::vector<std::uint64_t>{0, 1 % m.value(), m.value() / 2, m.value() - 1}[which];
    };
    expect_same([&](const Modulus& m, ConstResidues a, ConstResidues,
                    Residues out) { scale(m, a, factor(m), out); },
                [&](const Modulus& m, ConstResidues a, ConstResidues, Residues out) {
                  scale_reference(m, a, factor(m), out);
                });
  }
}

TEST(BgvPointwise, LiftsCentred) {
  for (const std::uint64_t q : kModuli) {
    const Modulus from(q);
    for (const std::uint64_t p : kModuli) {
      const Modulus to(p);
      const Words a = residues(100, q, 2);
      Words expected(100);
      lift_centred_reference(from, a, to, expected);
      on_every_target([&] {
        Words out(100);
        lift_centred(from, a, to, out);
        EXPECT_EQ(out, expected) << q << ' ' << p;
      });
    }
  }
}

TEST(BgvPointwise, HandWorked) {
  const Modulus m(17);
  const Words a{3, 16, 0, 9}, b{15, 16, 0, 8};
  Words out{1, 1, 1, 1};
  multiply_add(m, a, b, out);
  EXPECT_EQ(out, (Words{12, 2, 1, 5}));
  lift_centred(m, a, Modulus(5), out);
  EXPECT_EQ(out, (Words{3, 4, 0, 2}));  // 3, -1, 0, -8
}

}  // namespace
}  // namespace tabane::mine::bgv
