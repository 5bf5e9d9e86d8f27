#include "tabane/tools/mine/bgv/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"
#include "tabane/team/serialiser.h"
#include "tabane/tools/mine/bgv/material_test.h"

namespace tabane::mine::bgv {
namespace {

constexpr std::size_t kDraws = 1 << 20;

// Pearson's statistic; expected: probabilities.
double chi_squared(const std::vector<std::uint64_t>& counts, const std::vector<double>& expected) {
  double total = 0, sum = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double mean = total * expected[i];
    sum += (static_cast<double>(counts[i]) - mean) * (static_cast<double>(counts[i]) - mean) / mean;
  }
  return sum;
}

// What a right sampler exceeds once in a billion times: mean + 6 deviations. The seeds are fixed,
// so that the result is the same every time.
double limit(double degrees_of_freedom) {
  return degrees_of_freedom + 6 * std::sqrt(2 * degrees_of_freedom) + 12;
}

TEST(BgvRandom, StreamsDependOnTheirSeedsAlone) {
  std::array<std::uint8_t, 100> a, b, parts;
  stream_of(1).fill(a);
  stream_of(2).fill(b);
  EXPECT_NE(a, b);
  RandomStream stream = stream_of(1);
  stream.fill(std::span(parts).first(33));
  stream.fill(std::span(parts).subspan(33));
  EXPECT_EQ(a, parts);
}

// AES-256 of zeros under a key of zeros. Source: NIST, GFSbox/VarTxt vectors of AESAVS, key 0.
TEST(BgvRandom, IsAesInCounterMode) {
  std::array<std::uint8_t, 16> bytes;
  RandomStream(Seed{}).fill(bytes);
  const std::array<std::uint8_t, 16> expected = {0xdc, 0x95, 0xc0, 0x78, 0xa2, 0x40, 0x89, 0x89,
                                                 0xad, 0x48, 0xa2, 0x14, 0x92, 0x84, 0x20, 0x87};
  EXPECT_EQ(bytes, expected);
}

TEST(BgvRandom, FreshSeedsDiffer) {
  std::set<Seed> seeds;
  for (int i = 0; i < 100; ++i) seeds.insert(RandomStream::fresh().seed());
  EXPECT_EQ(seeds.size(), 100u);
  EXPECT_NE(fresh_key_id(), fresh_key_id());
}

TEST(BgvRandom, UniformIsUniform) {
  for (const std::uint64_t p :
       {std::uint64_t{65537}, (std::uint64_t{1} << 49) + 9, (std::uint64_t{1} << 50) - 27}) {
    const Modulus m(p);
    std::vector<std::uint64_t> values(kDraws), counts(256);
    RandomStream random = stream_of(3);
    draw_uniform(random, m, values);
    for (const std::uint64_t value : values) {
      ASSERT_LT(value, p);
      ++counts[static_cast<std::size_t>(static_cast<double>(value) / static_cast<double>(p) * 256)];
    }
    EXPECT_LT(chi_squared(counts, std::vector<double>(256, 1.0 / 256)), limit(255)) << p;
    EXPECT_GT(chi_squared(counts, std::vector<double>(256, 1.0 / 256)), 100) << p;
  }
}

TEST(BgvRandom, TernaryIsUniform) {
  std::vector<std::int8_t> values(kDraws);
  RandomStream random = stream_of(4);
  draw_ternary(random, values);
  std::vector<std::uint64_t> counts(3);
  for (const std::int8_t value : values) {
    ASSERT_LE(std::abs(value), 1);
    ++counts[value + 1];
  }
  EXPECT_LT(chi_squared(counts, {1.0 / 3, 1.0 / 3, 1.0 / 3}), limit(2));
}

TEST(BgvRandom, ErrorsAreCentredBinomial) {
  std::vector<std::int8_t> values(kDraws);
  RandomStream random = stream_of(5);
  draw_errors(random, values);
  // P(k) = C(42, 21 + k) / 2^42; both tails together.
  constexpr int kTail = 12;
  std::vector<double> expected(2 * kTail + 2, 0);
  std::vector<std::uint64_t> counts(expected.size());
  const auto cell = [](int k) {
    return std::abs(k) > kTail ? std::size_t{2 * kTail + 1} : static_cast<std::size_t>(k + kTail);
  };
  double binomial = 1;  // C(42, j)
  for (int j = 0; j <= 42; ++j) {
    expected[cell(j - 21)] += binomial / std::exp2(42);
    binomial = binomial * (42 - j) / (j + 1);
  }
  double sum = 0, squares = 0;
  for (const std::int8_t value : values) {
    ++counts[cell(value)];
    sum += value;
    squares += value * value;
  }
  EXPECT_LT(chi_squared(counts, expected), limit(2 * kTail + 1));
  EXPECT_NEAR(sum / kDraws, 0, 6 * std::sqrt(kErrorVariance / kDraws));
  EXPECT_NEAR(squares / kDraws, kErrorVariance, 0.1);
}

// Neighbours and the two halves of a word must not know of each other.
TEST(BgvRandom, ErrorsAreNotCorrelated) {
  std::vector<std::int8_t> values(kDraws);
  RandomStream random = stream_of(6);
  draw_errors(random, values);
  for (const std::size_t lag : {1u, 2u, 8u, 512u}) {
    double sum = 0;
    for (std::size_t i = lag; i < kDraws; ++i) sum += values[i] * values[i - lag];
    EXPECT_NEAR(sum / kDraws, 0, 6 * kErrorVariance / std::sqrt(kDraws)) << lag;
  }
}

TEST(BgvRandom, FillsAnyLength) {
  for (const std::size_t n : {0u, 1u, 7u, 511u, 512u, 513u}) {
    std::vector<std::int8_t> small(n + 1, 99);
    RandomStream random = stream_of(7);
    draw_ternary(random, std::span(small).first(n));
    draw_errors(random, std::span(small).first(n));
    EXPECT_EQ(small[n], 99);
    std::vector<std::uint64_t> words(n + 1, 99);
    draw_uniform(random, Modulus(17), std::span(words).first(n));
    EXPECT_EQ(words[n], 99u);
  }
}

// As it comes from a file.
template <class T>
T copied(const T& value) {
  team::Bytes bytes;
  team::put_value(bytes, value);
  team::Reader reader(bytes);
  return team::get_value<T>(reader);
}

TEST(BgvFiles, RoundTrip) {
  const Material m(toy(3, 32));
  const Slots slots = m.random(1);
  const Ciphertext c = m.encrypt(slots, 1);
  EvaluationKeys keys = copied(m.keys);
  ASSERT_TRUE(complete(*m.context, keys));
  EXPECT_EQ(keys.rotations.size(), m.keys.rotations.size());
  const Evaluator evaluator(m.context, &keys);
  EXPECT_EQ(m.decrypt(evaluator.rotate(c, 3)), m.decrypt(m.evaluator.rotate(c, 3)));
  const Ciphertext product = m.evaluator.multiply(c, c);
  for (const Ciphertext& each :
       {c, product, m.evaluator.relinearise(product), m.evaluator.switch_modulus(c)}) {
    const Ciphertext back = copied(each);
    EXPECT_TRUE(is_valid(*m.context, back));
    EXPECT_EQ(back.components(), each.components());
    EXPECT_EQ(back.primes(), each.primes());
    EXPECT_EQ(back.deviation, each.deviation);
    EXPECT_EQ(back.key, each.key);
    EXPECT_TRUE(std::ranges::equal(back.words(), each.words()));
  }
  const SecretKey secret(m.context, m.secret.id(), m.secret.coefficients());
  EXPECT_EQ(m.encoder.decode(decrypt(secret, c)), slots);
  EXPECT_EQ(copied(m.context->parameters().values()).primes, m.context->parameters().primes());
}

TEST(BgvFiles, ForgedKeysAreFound) {
  const Material m(toy(3, 32));
  const auto forged = [&](const auto& change, const Context& context) {
    EvaluationKeys keys = copied(m.keys);
    change(keys);
    return !complete(context, keys);
  };
  const Context& context = *m.context;
  EXPECT_FALSE(forged([](EvaluationKeys&) {}, context));
  const std::uint64_t q = context.modulus(0).value();
  EXPECT_TRUE(forged([&](EvaluationKeys& keys) { keys.relinearisation->b[0] = q; }, context));
  EXPECT_TRUE(forged([&](EvaluationKeys& keys) { keys.relinearisation->b.pop_back(); }, context));
  for (const std::uint64_t exponent : {0u, 2u, 65u}) {
    EXPECT_TRUE(forged(
        [&](EvaluationKeys& keys) { keys.rotations[exponent] = *keys.relinearisation; }, context));
  }
  EXPECT_TRUE(forged([](EvaluationKeys&) {}, *Material(toy(3, 64)).context));
  EXPECT_TRUE(forged([](EvaluationKeys&) {}, *Material(toy(1, 32)).context));  // no special prime
  std::vector<std::int8_t> coefficients(32, 1);
  coefficients[5] = 2;
  EXPECT_THROW(SecretKey(m.context, KeyId{}, coefficients), core::UsageError);
}

TEST(BgvFiles, ForgedCiphertextsAreFound) {
  const Material m(toy(3, 32));
  const Ciphertext c = m.encrypt(m.random(1), 1);
  const auto is_good = [&](const auto& change) {
    Ciphertext forged = copied(c);
    change(forged);
    return is_valid(*m.context, forged);
  };
  EXPECT_TRUE(is_good([](Ciphertext&) {}));
  EXPECT_FALSE(is_good([&](Ciphertext& f) { f.words()[0] = m.context->modulus(0).value(); }));
  EXPECT_FALSE(is_good([](Ciphertext& f) { f.deviation = -1; }));
  EXPECT_FALSE(is_good([](Ciphertext& f) { f.deviation = std::nan(""); }));
  EXPECT_FALSE(is_good([](Ciphertext& f) { std::get<0>(f.fields()) = 64; }));  // the degree
  EXPECT_FALSE(is_good([](Ciphertext& f) { std::get<1>(f.fields()) = 3; }));   // components
  EXPECT_FALSE(is_good([](Ciphertext& f) { std::get<2>(f.fields()) = 1; }));   // primes
  EXPECT_FALSE(is_good([](Ciphertext& f) { std::get<3>(f.fields()).pop_back(); }));
  const auto zeros = [&](std::size_t components, std::size_t primes) {
    Ciphertext zero(32, components, primes);
    std::ranges::fill(zero.words(), 0);
    return is_valid(*m.context, zero);
  };
  EXPECT_TRUE(zeros(3, 1));
  EXPECT_FALSE(zeros(1, 1));
  EXPECT_FALSE(zeros(4, 1));
  EXPECT_FALSE(zeros(2, 0));
  EXPECT_FALSE(zeros(2, m.context->primes() + 1));
}

}  // namespace
}  // namespace tabane::mine::bgv
