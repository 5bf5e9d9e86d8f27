#include "tabane/tools/mine/bgv/parameters.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tabane/core/text_of_error_test.h"

namespace tabane::mine::bgv {
namespace {

constexpr auto refusal = [](const auto& act) { return core::text_of_error<core::UsageError>(act); };

ParameterValues two_primes(std::size_t degree, int bits) {
  ParameterValues values{.degree = degree, .plaintext_modulus = 65537};
  values.primes = primes_one_modulo(std::lcm<std::uint64_t>(2 * degree, 65537), bits, 2);
  return values;
}

TEST(BgvParameters, PairsTakeDegree4096) {
  const Parameters p = Parameters::choose({.depth = 1, .values = 1943424});
  EXPECT_EQ(p.degree(), 4096u);
  EXPECT_EQ(p.plaintext_modulus(), 65537u);
  EXPECT_EQ(p.primes().size(), 2u);
  EXPECT_FALSE(p.has_special_prime());
  EXPECT_TRUE(p.secure());
  EXPECT_LE(p.modulus_bits(), 106);
}

TEST(BgvParameters, DeeperOnesTakeDegree8192) {
  for (const int depth : {2, 3}) {
    const Parameters p = Parameters::choose({.depth = depth, .values = 1943424});
    EXPECT_EQ(p.degree(), 8192u);
    EXPECT_TRUE(p.has_special_prime());
    EXPECT_TRUE(p.secure());
  }
}

TEST(BgvParameters, HiddenSlotsTakeAModulusThatHoldsTheTotal) {
  const Parameters p = Parameters::choose(
      {.depth = 1, .least_plaintext_modulus = 1943425, .values = 1943424, .sum_slots = true});
  EXPECT_EQ(p.degree(), 8192u);
  EXPECT_EQ(p.plaintext_modulus(), 2277377u);
  EXPECT_TRUE(p.has_special_prime());
}

TEST(BgvParameters, AllPrimesKeepThePlaintext) {
  for (int depth = 1; depth <= 4; ++depth) {
    const Parameters p = Parameters::choose({.depth = depth});
    for (const std::uint64_t q : p.primes()) {
      EXPECT_EQ(q % p.plaintext_modulus(), 1u);
      EXPECT_EQ(q % (2 * p.degree()), 1u);
    }
  }
}

TEST(BgvParameters, ChoosesOnlyWhatFits) {
  for (int depth = 1; depth <= 5; ++depth) {
    for (const std::uint64_t t : {65537u, 1943425u}) {
      const Computation computation{
          .depth = depth, .least_plaintext_modulus = t, .values = 1943424};
      const Parameters p = Parameters::choose(computation);
      EXPECT_TRUE(p.secure());
      EXPECT_GE(spare_bits(p, computation), 0);
      EXPECT_LE(p.modulus_bits(), max_modulus_bits(p.degree()));
    }
  }
}

TEST(BgvParameters, RefusesInsecureOnesUnlessAllowed) {
  ParameterValues values = two_primes(2048, 50);
  const std::string text = refusal([&] { Parameters p(values); });
  EXPECT_NE(text.find("--insecure-parameters"), std::string::npos) << text;
  EXPECT_NE(text.find("degree 2048 allows a modulus of 53 bits"), std::string::npos) << text;
  values.allow_insecure = true;
  const Parameters p(values);
  EXPECT_FALSE(p.secure());
  values.degree = 1024;  // one within the limit needs no leave
  EXPECT_TRUE(Parameters(two_primes(4096, 50)).secure());
}

TEST(BgvParameters, TheSpecialPrimeCounts) {
  ParameterValues values = two_primes(4096, 50);
  EXPECT_TRUE(Parameters(values).secure());
  values.special_prime = primes_one_modulo(std::lcm<std::uint64_t>(8192, 65537), 50, 3).back();
  EXPECT_THROW(Parameters p(values), core::UsageError);
}

TEST(BgvParameters, RefusesAForcedDegreeThatIsTooSmall) {
  const std::string text = refusal([] { Parameters::choose({.depth = 3, .degree = 4096}); });
  EXPECT_NE(text.find("--insecure-parameters"), std::string::npos) << text;
  const Parameters p = Parameters::choose({.depth = 3, .degree = 4096, .allow_insecure = true});
  EXPECT_EQ(p.degree(), 4096u);
  EXPECT_FALSE(p.secure());
}

TEST(BgvParameters, RefusesWhatCannotBe) {
  const ParameterValues good = two_primes(4096, 50);
  const auto with = [&](auto change) {
    ParameterValues values = good;
    change(values);
    return refusal([&] { Parameters p(values); });
  };
  EXPECT_NE(with([](auto& v) { v.degree = 4097; }).find("power of two"), std::string::npos);
  EXPECT_NE(with([](auto& v) { v.degree = 0; }).find("power of two"), std::string::npos);
  EXPECT_NE(with([](auto& v) { v.degree = 65536; }).find("power of two"), std::string::npos);
  EXPECT_NE(with([](auto& v) { v.plaintext_modulus = 65539; }).find("plaintext modulus"),
            std::string::npos);
  EXPECT_NE(with([](auto& v) { v.primes.clear(); }).find("primes"), std::string::npos);
  EXPECT_NE(with([](auto& v) { v.primes[1] = v.primes[0]; }).find("differ"), std::string::npos);
  EXPECT_NE(with([](auto& v) { v.primes[1] += 2; }).find("a prime below 2^50"), std::string::npos);
  EXPECT_THROW(Parameters::choose({.depth = 0}), core::UsageError);
  EXPECT_THROW(Parameters::choose({.depth = 13}), core::UsageError);
  EXPECT_THROW(Parameters::choose({.least_plaintext_modulus = std::uint64_t{1} << 33}),
               core::UsageError);
}

TEST(BgvSecurity, IsTheTableOf2024) {
  EXPECT_EQ(max_modulus_bits(1024), 26);
  EXPECT_EQ(max_modulus_bits(4096), 106);
  EXPECT_EQ(max_modulus_bits(8192), 214);
  EXPECT_EQ(max_modulus_bits(32768), 868);
  EXPECT_EQ(max_modulus_bits(4097), 0);
}

}  // namespace
}  // namespace tabane::mine::bgv
