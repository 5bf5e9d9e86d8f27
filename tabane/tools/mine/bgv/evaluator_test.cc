#include "tabane/tools/mine/bgv/evaluator.h"

#include <cmath>
#include <numeric>

#include "tabane/core/error.h"
#include "tabane/core/random.h"
#include "tabane/tools/mine/bgv/material_test.h"

namespace tabane::mine::bgv {
namespace {

Slots sum_of(const Slots& a, const Slots& b, std::uint64_t t) {
  Slots sum(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] = (a[i] + b[i]) % t;
  return sum;
}

Slots product_of(const Slots& a, const Slots& b, std::uint64_t t) {
  Slots product(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) product[i] = a[i] * b[i] % t;
  return product;
}

// The rows to the left.
Slots rotated(const Slots& a, std::size_t steps) {
  const std::size_t half = a.size() / 2;
  Slots result(a.size());
  for (std::size_t i = 0; i < half; ++i) {
    result[i] = a[(i + steps) % half];
    result[half + i] = a[half + (i + steps) % half];
  }
  return result;
}

TEST(BgvEncoder, RoundTripsAndPads) {
  const Material m(toy());
  const Slots slots = m.random(1);
  EXPECT_EQ(m.encoder.decode(m.encoder.encode(slots)), slots);
  const Slots few(slots.begin(), slots.begin() + 5);
  Slots padded(m.encoder.slots(), 0);
  std::ranges::copy(few, padded.begin());
  EXPECT_EQ(m.encoder.decode(m.encoder.encode(few)), padded);
  EXPECT_EQ(m.encoder.sum(m.encoder.encode(few)), std::accumulate(few.begin(), few.end(), 0u));
}

TEST(BgvEncoder, RefusesWhatDoesNotFit) {
  const Material m(toy());
  EXPECT_THROW(m.encoder.encode(Slots(m.encoder.slots() + 1)), core::UsageError);
  EXPECT_THROW(m.encoder.encode(Slots{m.t()}), core::UsageError);
  EXPECT_EQ(m.encoder.sum(m.encoder.encode(Slots{m.t() - 1})), m.t() - 1);
}

TEST(BgvEncryption, RoundTrips) {
  for (const Parameters& parameters : {toy(), parameters_for(1)}) {
    const Material m(parameters);
    for (const Slots& slots : {m.random(1), Slots(m.encoder.slots(), 0),
                               Slots(m.encoder.slots(), m.t() - 1), Slots{1}}) {
      Slots padded = slots;
      padded.resize(m.encoder.slots());
      const Ciphertext c = m.encrypt(slots, 5);
      EXPECT_EQ(m.decrypt(c), padded);
      m.expect_noise_within_estimate(c);
    }
  }
}

// A figure of x86-64, which any other processor has to have, too: keys, noise and key switch.
TEST(BgvEncryption, HasTheSameBitsOnEveryProcessor) {
  const Material m(toy());
  on_every_target([&] {
    const Ciphertext c = m.evaluator.relinearise(
        m.evaluator.multiply(m.encrypt(m.random(1), 5), m.encrypt(m.random(2), 6)));
    std::uint64_t digest = 0;
    for (const std::uint64_t word : c.words()) digest = core::mix(digest ^ word);
    EXPECT_EQ(digest, 6154515334933100100u);
  });
}

TEST(BgvEncryption, IsNeverTheSameTwice) {
  const Material m(toy());
  const Plaintext plaintext = m.encoder.encode(m.random(1));
  const auto equal = [](const Ciphertext& a, const Ciphertext& b) {
    return std::ranges::equal(a.words(), b.words());
  };
  EXPECT_FALSE(equal(encrypt(m.secret, plaintext), encrypt(m.secret, plaintext)));
  EXPECT_TRUE(equal(encrypt(m.secret, plaintext, stream_of(9)),
                    encrypt(m.secret, plaintext, stream_of(9))));
}

TEST(BgvEncryption, AnotherKeyIsRefused) {
  const Material m(toy()), other(toy(), 2);
  const Ciphertext c = m.encrypt(m.random(1), 5), d = other.encrypt(m.random(1), 5);
  EXPECT_THROW(decrypt(other.secret, c), core::UsageError);
  EXPECT_THROW(m.evaluator.add(c, d), core::UsageError);
  EXPECT_THROW(m.evaluator.multiply(c, d), core::UsageError);
  EXPECT_THROW(other.evaluator.rotate(c, 1), core::UsageError);
}

double log2_half_modulus(const Context& context) {
  double bits = -1;
  for (const std::uint64_t q : context.parameters().primes()) bits += std::log2(q);
  return bits;
}

// With the key id forged, noise covers everything.
TEST(BgvEncryption, AnotherKeyDecryptsToNonsense) {
  const Material m(toy()), other(toy(), 2);
  const Slots slots = m.random(1);
  Ciphertext c = m.encrypt(slots, 5);
  c.key = other.secret.id();
  EXPECT_NE(other.decrypt(c), slots);
  // As much as half of the modulus: nothing of its bits is left.
  EXPECT_GT(noise_bits(other.secret, c), log2_half_modulus(*other.context) - 1);
}

TEST(BgvEvaluator, AddsAndMultipliesRandomVectors) {
  for (const Parameters& parameters : {toy(), parameters_for(1), parameters_for(2)}) {
    const Material m(parameters);
    for (std::uint64_t round = 0; round < 3; ++round) {
      const Slots a = m.random(2 * round), b = m.random(2 * round + 1);
      const Ciphertext x = m.encrypt(a, 5), y = m.encrypt(b, 6);
      const Ciphertext sum = m.evaluator.add(x, y), product = m.evaluator.multiply(x, y);
      EXPECT_EQ(m.decrypt(sum), sum_of(a, b, m.t()));
      EXPECT_EQ(m.decrypt(product), product_of(a, b, m.t()));
      m.expect_noise_within_estimate(sum);
      m.expect_noise_within_estimate(product);
      // Components of either number, in either order.
      const Slots both = sum_of(product_of(a, b, m.t()), a, m.t());
      EXPECT_EQ(m.decrypt(m.evaluator.add(product, x)), both);
      EXPECT_EQ(m.decrypt(m.evaluator.add(x, product)), both);
    }
  }
}

TEST(BgvEvaluator, RelinearisationChangesNothing) {
  for (const Parameters& parameters : {toy(), parameters_for(2)}) {
    const Material m(parameters);
    const Slots a = m.random(1), b = m.random(2);
    const Ciphertext product = m.evaluator.multiply(m.encrypt(a, 5), m.encrypt(b, 6));
    const Ciphertext two = m.evaluator.relinearise(product);
    EXPECT_EQ(two.components(), 2u);
    EXPECT_EQ(m.decrypt(two), m.decrypt(product));
    EXPECT_EQ(m.decrypt(two), product_of(a, b, m.t()));
    m.expect_noise_within_estimate(two);
  }
}

TEST(BgvEvaluator, SwitchingTheModulusTakesNoiseAway) {
  const Material m(parameters_for(3));
  const Slots a = m.random(1), b = m.random(2);
  const Ciphertext x = m.encrypt(a, 5);
  const Ciphertext product = m.evaluator.multiply(x, m.encrypt(b, 6));
  const Ciphertext less = m.evaluator.switch_modulus(product);  // three components
  EXPECT_EQ(less.primes(), product.primes() - 1);
  EXPECT_EQ(m.decrypt(less), product_of(a, b, m.t()));
  EXPECT_LT(noise_bits(m.secret, less), noise_bits(m.secret, product));
  m.expect_noise_within_estimate(less);
  const Ciphertext one = m.evaluator.switch_modulus_to(x, 1);
  EXPECT_EQ(one.primes(), 1u);
  EXPECT_EQ(m.decrypt(one), a);
  m.expect_noise_within_estimate(one);
  EXPECT_THROW(m.evaluator.switch_modulus(one), core::UsageError);
}

// a, a b, a b c, …: one level each, as counting longer itemsets does it.
TEST(BgvEvaluator, NoiseStaysWithinTheEstimateAtEveryStep) {
  for (int depth = 1; depth <= 3; ++depth) {
    for (const std::uint64_t t : {65537u, 1943425u}) {
      const Material m(
          Parameters::choose({.depth = depth, .least_plaintext_modulus = t, .values = 1943424}));
      SCOPED_TRACE(testing::Message()
                   << "depth " << depth << ", t " << m.t() << ", degree " << m.context->degree());
      Slots expected = m.random(1);
      Ciphertext prefix = m.encrypt(expected, 5);
      for (int level = 1; level <= depth; ++level) {
        const Slots factor = m.random(static_cast<std::uint64_t>(level) + 1);
        const Ciphertext item = m.evaluator.switch_modulus_to(
            m.encrypt(factor, static_cast<std::uint8_t>(5 + level)), prefix.primes());
        m.expect_noise_within_estimate(item);
        Ciphertext product = m.evaluator.multiply(prefix, item);
        expected = product_of(expected, factor, m.t());
        EXPECT_EQ(m.decrypt(product), expected) << level;
        m.expect_noise_within_estimate(product);
        if (level == depth) break;
        product = m.evaluator.relinearise(product);
        EXPECT_EQ(m.decrypt(product), expected) << level;
        m.expect_noise_within_estimate(product);
        prefix = m.evaluator.switch_modulus(product);
        EXPECT_EQ(m.decrypt(prefix), expected) << level;
        m.expect_noise_within_estimate(prefix);
      }
    }
  }
}

// Messages that are not uniform: 0 and 1, as databases have them, and all the same.
TEST(BgvEvaluator, NoiseStaysWithinTheEstimateForBits) {
  const Material m(parameters_for(1));
  for (const Slots& slots :
       {random_slots(m.encoder.slots(), 2, 1), Slots(m.encoder.slots(), 1), Slots{1}}) {
    const Ciphertext x = m.encrypt(slots, 5);
    const Ciphertext square = m.evaluator.multiply(x, x);
    Slots expected = slots;
    expected.resize(m.encoder.slots());
    EXPECT_EQ(m.decrypt(square), expected);
    EXPECT_LE(noise_bits(m.secret, square), square.deviation + 3.59);
  }
}

TEST(BgvEvaluator, Rotates) {
  for (const Parameters& parameters : {toy(), parameters_for(2)}) {
    const Material m(parameters);
    const Slots a = m.random(1);
    const Ciphertext x = m.encrypt(a, 5);
    const std::size_t half = a.size() / 2;
    for (const std::size_t steps :
         {std::size_t{0}, std::size_t{1}, std::size_t{5}, half - 1, half}) {
      const Ciphertext turned = m.evaluator.rotate(x, steps);
      EXPECT_EQ(m.decrypt(turned), rotated(a, steps % half)) << steps;
      m.expect_noise_within_estimate(turned);
    }
    Slots exchanged(a.begin() + static_cast<std::ptrdiff_t>(half), a.end());
    exchanged.insert(exchanged.end(), a.begin(), a.begin() + static_cast<std::ptrdiff_t>(half));
    EXPECT_EQ(m.decrypt(m.evaluator.exchange_rows(x)), exchanged);
  }
}

TEST(BgvEvaluator, SumsSlots) {
  const Computation computation{
      .depth = 1, .least_plaintext_modulus = 100001, .values = 100000, .sum_slots = true};
  const Material m(Parameters::choose(computation));
  const Slots a = random_slots(m.encoder.slots(), 2, 1), b = random_slots(m.encoder.slots(), 2, 2);
  const Ciphertext product =
      m.evaluator.relinearise(m.evaluator.multiply(m.encrypt(a, 5), m.encrypt(b, 6)));
  const Ciphertext total = m.evaluator.sum_slots(product);
  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < a.size(); ++i) expected += a[i] * b[i];
  EXPECT_EQ(m.decrypt(total), Slots(a.size(), expected));
  m.expect_noise_within_estimate(total);
}

TEST(BgvEvaluator, MissingKeysAreNamed) {
  const Material m(toy());
  const Ciphertext x = m.encrypt(m.random(1), 5), product = m.evaluator.multiply(x, x);
  EXPECT_THROW(Evaluator(m.context).relinearise(product), core::UsageError);
  const EvaluationKeys none{.id = m.secret.id()};
  const Evaluator evaluator(m.context, &none);
  EXPECT_THROW(evaluator.relinearise(product), core::UsageError);
  EXPECT_THROW(evaluator.rotate(x, 1), core::UsageError);
  const Material flat(parameters_for(1));
  EXPECT_THROW(EvaluationKeys::generate(flat.secret, false), core::UsageError);
}

TEST(BgvDecryptor, RefusesWhatIsLostInNoise) {
  const Material m(parameters_for(1));
  Ciphertext c = m.encrypt(m.random(1), 5);
  c.deviation = 99;
  EXPECT_THROW(m.decrypt(c), core::Error);
}

}  // namespace
}  // namespace tabane::mine::bgv
