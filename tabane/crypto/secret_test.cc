#include "tabane/crypto/secret.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/crypto/bytes_test.h"
#include "tabane/crypto/keys.h"

namespace tabane::crypto {
namespace {

// The flags of the mapping that holds an address, " rd wr … lo dd "; empty if they are not told.
std::string flags_at(const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    const char* const end = line.data() + line.size();
    const auto first = std::from_chars(line.data(), end, from, 16);
    if (first.ec == std::errc{} && first.ptr != end && *first.ptr == '-') {
      std::from_chars(first.ptr + 1, end, to, 16);
      here = from <= place && place < to;
    }
    if (here && line.starts_with("VmFlags:")) return line.substr(8) + " ";
  }
  return {};
}

bool may_lock() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;  // sanitizers do nothing for mlock()
#endif
  rlimit limit{};
  return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur >= (1u << 20);
}

void expect_kept_out_of_swap_and_dumps(const void* address) {
  const std::string flags = flags_at(address);
  if (flags.empty()) GTEST_SKIP() << "this system does not tell flags of memory";
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;
  EXPECT_TRUE(!may_lock() || flags.find(" lo ") != std::string::npos) << flags;
}

TEST(LockedMemory, HoldsKeys) {
  const LockedBytes<32> key;
  expect_kept_out_of_swap_and_dumps(key.bytes().data());
}

TEST(LockedMemory, HoldsPassphrases) {
  const Passphrase passphrase = Passphrase::of(from_text("correct horse"));
  expect_kept_out_of_swap_and_dumps(passphrase.bytes().data());
}

TEST(LockedMemory, IsUsedBeyondTheLimitToo) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  LockedMemory memory(100'000);
  setrlimit(RLIMIT_MEMLOCK, &before);
  EXPECT_EQ(memory.bytes().size(), 100'000u);
  memory.bytes().back() = std::byte{1};
  EXPECT_EQ(memory.bytes().front(), std::byte{0});
}

TEST(LockedMemory, MovesAndLeavesNothing) {
  LockedMemory one(10), two(20);
  const std::byte* const place = one.bytes().data();
  two = std::move(one);
  EXPECT_EQ(two.bytes().data(), place);
  EXPECT_TRUE(one.bytes().empty());  // NOLINT(bugprone-use-after-move)
  const LockedMemory three(std::move(two));
  EXPECT_EQ(three.bytes().data(), place);
  EXPECT_TRUE(two.bytes().empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(LockedMemory(0).bytes().empty());
}

TEST(SecretBytes, AreWipedWhereTheyWereMovedFrom) {
  using Secret = SecretBytes<32>;
  const auto counting_secret = [] {
    Secret secret;
    std::ranges::copy(counting(32), secret.bytes().begin());
    return secret;
  };
  Secret key = counting_secret();
  const Secret moved = std::move(key);
  EXPECT_EQ(moved.bytes()[31], std::byte{31});
  EXPECT_TRUE(all_zero(key.bytes()));  // NOLINT(bugprone-use-after-move)
  Secret assigned = counting_secret(), source = counting_secret();
  source.bytes()[0] = std::byte{9};
  assigned = std::move(source);
  EXPECT_EQ(assigned.bytes()[0], std::byte{9});
  EXPECT_TRUE(all_zero(source.bytes()));  // NOLINT(bugprone-use-after-move)
}

TEST(Wipe, OverwritesAllBytesAndNoOther) {
  std::array<std::byte, 40> bytes;
  bytes.fill(std::byte{7});
  wipe(std::span(bytes).subspan(3, 30));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(bytes[i], i < 3 || i >= 33 ? std::byte{7} : std::byte{0}) << i;
  }
  wipe({});
}

TEST(FillRandom, FillsAllBytesAndNeverTheSameWay) {
  for (const std::size_t n : {0, 1, 31, 32, 1000}) {
    Bytes sum(n + 1);
    for (int i = 0; i < 20; ++i) {
      Bytes bytes(n + 1);
      fill_random(std::span(bytes).first(n));
      EXPECT_EQ(bytes[n], std::byte{0});
      for (std::size_t k = 0; k < n; ++k) sum[k] |= bytes[k];
    }
    EXPECT_FALSE(std::ranges::any_of(std::span(sum).first(n),
                                     [](std::byte b) { return b == std::byte{0}; }));
  }
  Bytes one(32), other(32);
  fill_random(one);
  fill_random(other);
  EXPECT_NE(one, other);
}

TEST(WipedAtEnd, SetsAllElementsToZeroAlsoWhenSomethingIsThrown) {
  std::vector<std::uint64_t> words(5, ~std::uint64_t{0});
  std::array<std::uint8_t, 32> seed;
  seed.fill(7);
  try {
    const WipedAtEnd end(words), end_of_seed(seed);
    EXPECT_EQ(words[4], ~std::uint64_t{0});
    throw core::Error("in between");
  } catch (const core::Error&) {
  }
  EXPECT_EQ(words, std::vector<std::uint64_t>(5, 0));
  EXPECT_EQ(seed, (std::array<std::uint8_t, 32>{}));
}

}  // namespace
}  // namespace tabane::crypto
