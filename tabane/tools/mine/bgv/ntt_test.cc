#include "tabane/tools/mine/bgv/ntt.h"

#include "tabane/tools/mine/bgv/material_test.h"

namespace tabane::mine::bgv {
namespace {

// Small and large moduli; the largest shows what the fast path's bounds are worth.
std::vector<std::uint64_t> moduli(std::size_t degree) {
  return {next_prime_one_modulo(2 * degree, 2 * degree), primes_one_modulo(2 * degree, 30, 1).at(0),
          primes_one_modulo(2 * degree, 50, 1).at(0)};
}

// a b modulo X^N + 1, term by term.
Words schoolbook(const Modulus& m, const Words& a, const Words& b) {
  const std::size_t n = a.size();
  Words product(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const std::uint64_t term = m.multiply(a[i], b[j]);
      std::uint64_t& to = product[(i + j) % n];
      to = i + j < n ? m.add(to, term) : m.subtract(to, term);
    }
  }
  return product;
}

// Random residues, and those that make sums and differences as large as they get.
std::vector<Words> inputs(std::size_t n, std::uint64_t p) {
  std::vector<Words> all{random_residues(n, p, 1), Words(n, 0),         Words(n, p - 1),
                         Words(n, p / 2),          Words(n, p / 2 + 1), Words(n, 0)};
  all.back()[n - 1] = p - 1;
  Words alternating(n, 0);
  for (std::size_t i = 0; i < n; i += 2) alternating[i] = p - 1;
  all.push_back(alternating);
  return all;
}

TEST(BgvNtt, MultipliesAsTheSchoolbook) {
  for (const std::size_t n : {32u, 64u, 256u}) {
    for (const std::uint64_t p : moduli(n)) {
      const Modulus m(p);
      const Ntt ntt(n, m);
      Words a = random_residues(n, p, 2), b = random_residues(n, p, 3);
      const Words expected = schoolbook(m, a, b);
      ntt.forward(a);
      ntt.forward(b);
      multiply(m, a, b, a);
      ntt.inverse(a);
      EXPECT_EQ(a, expected) << n << ' ' << p;
    }
  }
}

TEST(BgvNtt, HoldsTheValuesAtTheRootsWhereItSays) {
  const std::size_t n = 64;
  const Modulus m(moduli(n).back());
  const Ntt ntt(n, m);
  const Words a = random_residues(n, m.value(), 4);
  Words values = a;
  ntt.forward(values);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t exponent = exponent_at(n, i);
    EXPECT_EQ(position_of(n, exponent), i);
    const std::uint64_t x = m.power(ntt.root(), exponent);
    std::uint64_t value = 0;
    for (std::size_t k = n; k-- > 0;) value = m.add(m.multiply(value, x), a[k]);
    EXPECT_EQ(values[i], value) << i;
  }
}

TEST(BgvNtt, EveryTargetGivesTheReferencesWords) {
  for (std::size_t n = 32; n <= 32768; n *= 2) {
    for (const std::uint64_t p : moduli(n)) {
      const Ntt ntt(n, Modulus(p));
      for (const Words& input : inputs(n, p)) {
        Words forward = input, back = input;
        ntt.forward_reference(forward);
        ntt.inverse_reference(back);
        on_every_target([&] {
          Words values = input;
          ntt.forward(values);
          EXPECT_TRUE(values == forward) << n << ' ' << p;
          ntt.inverse(values);
          EXPECT_TRUE(values == input) << n << ' ' << p;
          ntt.inverse(values);
          EXPECT_TRUE(values == back) << n << ' ' << p;
        });
      }
    }
  }
}

TEST(BgvNtt, ServesAnyAlignment) {
  const std::size_t n = 128;
  const Ntt ntt(n, Modulus(moduli(n).back()));
  const Words input = random_residues(n, ntt.modulus().value(), 5);
  Words expected = input;
  ntt.forward_reference(expected);
  for (std::size_t offset = 1; offset < 8; ++offset) {
    Words room(n + 16, 7);
    const auto values = std::span(room).subspan(offset, n);
    std::ranges::copy(input, values.begin());
    ntt.forward(values);
    EXPECT_TRUE(std::ranges::equal(values, expected));
    EXPECT_EQ(room[offset - 1], 7u);
    EXPECT_EQ(room[offset + n], 7u);
    ntt.inverse(values);
    EXPECT_TRUE(std::ranges::equal(values, input));
  }
}

}  // namespace
}  // namespace tabane::mine::bgv
