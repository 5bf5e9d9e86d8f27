#include "tabane/tools/mine/bgv/product_sum.h"

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/material_test.h"

namespace tabane::mine::bgv {
namespace {

// A database of bits, encrypted block by block, and what counting must give.
struct Database {
  Database(const Material& material, std::size_t each, std::size_t blocks) : items(each) {
    for (std::size_t i = 0; i < items * blocks; ++i) {
      slots.push_back(random_slots(material.encoder.slots(), 2, i));
      ciphertexts.push_back(material.encrypt(slots[i], static_cast<std::uint8_t>(i)));
    }
    views.assign(ciphertexts.begin(), ciphertexts.end());
  }
  std::uint64_t count(std::size_t a, std::size_t b) const {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < slots.size(); at += items) {
      for (std::size_t i = 0; i < slots[at].size(); ++i) sum += slots[at + a][i] * slots[at + b][i];
    }
    return sum;
  }
  std::size_t items;
  std::vector<Slots> slots;
  std::vector<Ciphertext> ciphertexts;
  std::vector<CiphertextView> views;
};

std::uint64_t total(const Material& m, const CiphertextView& c) {
  return m.encoder.sum(decrypt(m.secret, c));
}

TEST(BgvProductSum, CountsAsPlainCountingDoes) {
  const Material m(parameters_for(1));
  const Database data(m, 3, 4);
  ProductSum one_by_one(m.context, m.context->primes()), at_once = one_by_one;
  std::vector<CiphertextView> a, b;
  for (std::size_t block = 0; block < 4; ++block) {
    a.push_back(data.views[3 * block]);
    b.push_back(data.views[3 * block + 2]);
    one_by_one.add_product(a.back(), b.back());
  }
  at_once.add_products(a, b);
  const Ciphertext sum = one_by_one.finish();
  EXPECT_EQ(total(m, sum), data.count(0, 2));
  EXPECT_TRUE(std::ranges::equal(at_once.finish().words(), sum.words()));
  m.expect_noise_within_estimate(sum);
}

TEST(BgvProductSum, DecryptsTheSameAfterRelinearisation) {
  const Material m(parameters_for(2));
  const Database data(m, 2, 5);
  ProductSum sum(m.context, m.context->primes());
  for (std::size_t block = 0; block < 5; ++block) {
    sum.add_product(data.views[2 * block], data.views[2 * block + 1]);
  }
  const Ciphertext three = sum.finish(), two = m.evaluator.relinearise(three);
  EXPECT_EQ(m.decrypt(two), m.decrypt(three));
  EXPECT_EQ(total(m, two), data.count(0, 1));
  m.expect_noise_within_estimate(two);
}

TEST(BgvProductSum, CountsAllPairs) {
  const Material m(toy(2));
  for (const std::size_t blocks : {1u, 3u, 70u}) {
    const std::size_t items = 4;
    const Database data(m, items, blocks);
    std::vector<Pair> pairs;
    for (std::uint32_t i = 0; i < items; ++i) {
      for (std::uint32_t j = i; j < items; ++j) pairs.emplace_back(i, j);
    }
    std::vector<ProductSum> sums(pairs.size(), ProductSum(m.context, m.context->primes()));
    on_every_target([&] {
      for (ProductSum& sum : sums) sum.clear();
      add_pair_products(data.views, items, pairs, sums);
      for (std::size_t p = 0; p < pairs.size(); ++p) {
        const Ciphertext sum = sums[p].finish();
        EXPECT_EQ(total(m, sum), data.count(pairs[p].first, pairs[p].second)) << blocks << ' ' << p;
        m.expect_noise_within_estimate(sum);
      }
    });
  }
}

// More products than the words hold without a reduction.
TEST(BgvProductSum, ReducesInTime) {
  const Material m(toy(1, 32));
  const Slots ones(m.encoder.slots(), 1);
  const Ciphertext x = m.encrypt(ones, 1), y = m.encrypt(ones, 2);
  const std::vector<CiphertextView> a(5000, x), b(5000, y);
  ProductSum sum(m.context, m.context->primes()), parts = sum, other = sum;
  sum.add_products(a, b);
  EXPECT_EQ(m.decrypt(sum.finish()), Slots(m.encoder.slots(), 5000));
  for (int i = 0; i < 5; ++i) {
    other.clear();
    other.add_products(std::span(a).first(1000), std::span(b).first(1000));
    parts.add(other);
  }
  EXPECT_EQ(m.decrypt(parts.finish()), Slots(m.encoder.slots(), 5000));
  std::vector<ProductSum> pair(1, ProductSum(m.context, m.context->primes()));
  std::vector<CiphertextView> database;
  for (std::size_t i = 0; i < a.size(); ++i) {
    database.push_back(x);
    database.push_back(y);
  }
  add_pair_products(database, 2, std::vector<Pair>{{0, 1}}, pair);
  EXPECT_EQ(m.decrypt(pair[0].finish()), Slots(m.encoder.slots(), 5000));
}

TEST(BgvProductSum, TakesCiphertextsToo) {
  const Material m(toy());
  const Slots a = m.random(1), b = m.random(2);
  const Ciphertext x = m.encrypt(a, 1), y = m.encrypt(b, 2);
  ProductSum sum(m.context, m.context->primes());
  sum.add(x);
  sum.add_product(x, y);
  const Slots result = m.decrypt(sum.finish());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(result[i], (a[i] + a[i] * b[i]) % m.t());
  }
}

TEST(BgvProductSum, WorksOnAnyLevel) {
  const Material m(toy(3));
  const Slots a = m.random(1), b = m.random(2);
  const Ciphertext x = m.evaluator.switch_modulus(m.encrypt(a, 1));
  const Ciphertext y = m.evaluator.switch_modulus(m.encrypt(b, 2));
  ProductSum sum(m.context, x.primes());
  sum.add_product(x, y);
  EXPECT_EQ(sum.finish().primes(), x.primes());
  EXPECT_EQ(m.decrypt(sum.finish()), m.decrypt(m.evaluator.multiply(x, y)));
}

TEST(BgvProductSum, RefusesWhatDoesNotBelongTogether) {
  const Material m(toy()), other(toy(), 2);
  const Ciphertext x = m.encrypt(m.random(1), 1), y = other.encrypt(m.random(1), 1);
  ProductSum sum(m.context, m.context->primes()), second = sum;
  EXPECT_TRUE(sum.empty());
  EXPECT_THROW(sum.finish(), core::UsageError);
  EXPECT_THROW(sum.add_product(x, y), core::UsageError);
  sum.clear();
  sum.add(x);
  second.add(y);
  EXPECT_THROW(sum.add(second), core::UsageError);
}

}  // namespace
}  // namespace tabane::mine::bgv
