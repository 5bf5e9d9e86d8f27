#include "tabane/tools/mine/bgv/random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "tabane/crypto/openssl.h"
#include "tabane/crypto/random.h"
#include "tabane/crypto/wipe.h"

namespace tabane::mine::bgv {
namespace {

template <std::size_t kBytes>
std::array<std::uint8_t, kBytes> fresh_bytes() {
  std::array<std::uint8_t, kBytes> bytes;
  crypto::fill_random(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

// Bytes of a stream in portions that stay in the first-level cache, wiped at the end.
class Portions {
 public:
  explicit Portions(RandomStream& random) : random_(random) {}
  ~Portions() { crypto::wipe(std::as_writable_bytes(std::span(bytes_))); }
  Portions(const Portions&) = delete;
  Portions& operator=(const Portions&) = delete;

  // At most `left` words of 64 bits, at least one.
  std::span<const std::uint8_t> words(std::size_t left) {
    const auto bytes = std::span(bytes_).first(std::min(bytes_.size(), 8 * left));
    random_.fill(bytes);
    return bytes;
  }

 private:
  RandomStream& random_;
  std::array<std::uint8_t, 4096> bytes_;
};

std::uint64_t little_endian(const std::uint8_t* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

}  // namespace

Seed fresh_seed() { return fresh_bytes<32>(); }
KeyId fresh_key_id() { return fresh_bytes<16>(); }

struct RandomStream::State {
  crypto::CipherContext context{EVP_CIPHER_CTX_new()};
};

RandomStream::RandomStream(const Seed& seed) : state_(std::make_unique<State>()) {
  const std::array<std::uint8_t, 16> first{};
  crypto::require(
      state_->context != nullptr && EVP_EncryptInit_ex(state_->context.get(), EVP_aes_256_ctr(),
                                                       nullptr, seed.data(), first.data()) == 1,
      "random numbers");
}

RandomStream::~RandomStream() = default;
RandomStream::RandomStream(RandomStream&&) noexcept = default;
RandomStream& RandomStream::operator=(RandomStream&&) noexcept = default;

void RandomStream::fill(std::span<std::uint8_t> bytes) {
  std::ranges::fill(bytes, std::uint8_t{0});
  int written = 0;
  crypto::require(EVP_EncryptUpdate(state_->context.get(), bytes.data(), &written, bytes.data(),
                                    static_cast<int>(bytes.size())) == 1,
                  "random numbers");
}

Seed RandomStream::seed() {
  Seed seed;
  fill(seed);
  return seed;
}

void draw_uniform(RandomStream& random, const Modulus& modulus, std::span<std::uint64_t> values) {
  const std::uint64_t mask = std::bit_ceil(modulus.value()) - 1;
  Portions portions(random);
  for (std::size_t done = 0; done < values.size();) {
    const std::span<const std::uint8_t> bytes = portions.words(values.size() - done);
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      const std::uint64_t word = little_endian(bytes.data() + at) & mask;
      values[done] = word;
      done += word < modulus.value();
    }
  }
}

// Bytes below 252 are uniform modulo 3.
void draw_ternary(RandomStream& random, std::span<std::int8_t> values) {
  Portions portions(random);
  for (std::size_t done = 0; done < values.size();) {
    for (const std::uint8_t byte : portions.words((values.size() - done + 7) / 8)) {
      if (byte >= 252 || done == values.size()) continue;
      values[done++] = static_cast<std::int8_t>(byte % 3 - 1);
    }
  }
}

void draw_errors(RandomStream& random, std::span<std::int8_t> values) {
  constexpr std::uint64_t kBits = (std::uint64_t{1} << 21) - 1;
  Portions portions(random);
  for (std::size_t done = 0; done < values.size();) {
    const std::span<const std::uint8_t> bytes = portions.words(values.size() - done);
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      const std::uint64_t word = little_endian(bytes.data() + at);
      values[done++] =
          static_cast<std::int8_t>(std::popcount(word & kBits) - std::popcount(word >> 21 & kBits));
    }
  }
}

}  // namespace tabane::mine::bgv
