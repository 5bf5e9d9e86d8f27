// The report's cipher and those of today, in memory on one core.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/crypto/openssl.h"
#include "tabane/lab/record/text.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::lab::aes_folder {
namespace {

constexpr std::size_t kMostBytes = 1024 * core::kKiB;
constexpr std::size_t kTagBytes = 16;
constexpr const char* kCiphers[] = {kCbc, "AES-128-GCM", "AES-128-XTS", "ChaCha20-Poly1305"};

// One of OpenSSL's ciphers with its key. Each buffer has an initial vector of its own; a cipher
// that authenticates also makes the tag, or checks it.
class BufferCipher {
 public:
  BufferCipher(const char* name, const FolderKey& key)
      : cipher_(EVP_CIPHER_fetch(nullptr, name, nullptr)), context_(EVP_CIPHER_CTX_new()) {
    crypto::require(
        cipher_ && context_ &&
            EVP_CipherInit_ex2(context_.get(), cipher_.get(), nullptr, nullptr, 1, nullptr) == 1,
        name);
    std::ranges::copy(key.key, key_.begin());
    std::ranges::copy(key.iv, key_.begin() + sizeof key.key);  // XTS needs two keys
    authenticates_ = (EVP_CIPHER_get_flags(cipher_.get()) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
  }

  // Encrypts (1), or decrypts what it encrypted last (0). out: has room for a block more. Returns
  // the bytes written.
  std::size_t apply(int encrypts, std::span<const std::byte> in, std::span<std::byte> out) {
    if (encrypts == 1) ++buffers_;
    const std::array<std::uint64_t, 2> iv = {buffers_, 0};
    // The key is set once for all buffers.
    const auto* key = std::exchange(direction_, encrypts) == encrypts ? nullptr : crypto::in(key_);
    int written = 0, rest = 0;
    const bool good =
        EVP_CipherInit_ex2(context_.get(), nullptr, key, crypto::in(std::as_bytes(std::span(iv))),
                           encrypts, nullptr) == 1 &&
        (encrypts == 1 || pass_tag(EVP_CTRL_AEAD_SET_TAG)) &&
        EVP_CipherUpdate(context_.get(), crypto::out(out), &written, crypto::in(in),
                         static_cast<int>(in.size())) == 1 &&
        EVP_CipherFinal_ex(context_.get(), crypto::out(out) + written, &rest) == 1 &&
        (encrypts == 0 || pass_tag(EVP_CTRL_AEAD_GET_TAG));
    crypto::require(good, EVP_CIPHER_get0_name(cipher_.get()));
    return static_cast<std::size_t>(written + rest);
  }

 private:
  bool pass_tag(int command) {
    return !authenticates_ ||
           EVP_CIPHER_CTX_ctrl(context_.get(), command, kTagBytes, tag_.data()) == 1;
  }

  std::unique_ptr<EVP_CIPHER, crypto::FreedBy<EVP_CIPHER_free>> cipher_;
  crypto::CipherContext context_;
  bool authenticates_ = false;
  std::array<std::byte, 32> key_{};
  std::array<std::byte, kTagBytes> tag_{};
  std::uint64_t buffers_ = 0;
  int direction_ = -1;
};

// throws: core::VerificationError unless it decrypts what it has encrypted.
void check(BufferCipher& cipher, std::span<const std::byte> plain, const char* name) {
  std::vector<std::byte> sealed(plain.size() + kTagBytes), again(plain.size() + 2 * kTagBytes);
  sealed.resize(cipher.apply(1, plain, sealed));
  again.resize(cipher.apply(0, sealed, again));
  if (!std::ranges::equal(again, plain) || std::ranges::equal(sealed, plain))
    throw core::VerificationError(fmt::format("what {} decrypts", name), 1, 0);
}

}  // namespace

Factors cipher_factors(const char* cipher, std::uint64_t bytes) {
  return {{"cipher", cipher}, {"buffer_bytes", bytes}};
}

std::vector<Contender> cipher_contenders(const FolderKey& key, bool quick) {
  constexpr std::size_t kBytesOfSample = 256 * core::kKiB;
  const auto plain = std::make_shared<std::vector<std::byte>>(kMostBytes);
  const auto sealed = std::make_shared<std::vector<std::byte>>(kMostBytes + kTagBytes);
  crypto::fill_random(*plain);
  std::vector<Contender> all;
  for (const char* name : kCiphers) {
    const auto cipher = std::make_shared<BufferCipher>(name, key);
    check(*cipher, std::span(*plain).first(1000), name);  // no whole blocks
    for (std::size_t bytes = 64; bytes <= kMostBytes; bytes *= quick ? 16 : 4) {
      all.push_back({cipher_factors(name, bytes), [=] {
                       const std::size_t times = std::max<std::size_t>(1, kBytesOfSample / bytes);
                       const double begin = core::tick_clock().now();
                       for (std::size_t i = 0; i < times; ++i)
                         cipher->apply(1, std::span(*plain).first(bytes), *sealed);
                       return Sample{(core::tick_clock().now() - begin) /
                                     static_cast<double>(times)};
                     }});
    }
  }
  return all;
}

void add_cipher_views(const StudyViews& views) {
  const auto bytes_of = [](const Point& point) { return point.number("buffer_bytes"); };
  const std::vector<Factors> sizes = combinations(views.points, {"buffer_bytes"});
  std::vector<Column> columns = {{"buffer", level_of("buffer_bytes", "B")}};
  Curves curves{{"buffer", "B", true}, {"rate", "B/s", true}, {}};
  std::vector<std::string> ends;
  for (const std::string& name : views.points.words("cipher")) {
    const Factors cipher{{"cipher", name}};
    columns.push_back({name, rate_of(cipher, "B/s", bytes_of)});
    if (name != kCbc) columns.push_back({"times CBC", ratio_of({{"cipher", kCbc}}, cipher)});
    const Curve curve =
        curve_of(name, rate_of(cipher, "B/s", bytes_of, true), views.points, sizes, "buffer_bytes");
    if (curve.x.empty()) continue;
    ends.push_back(fmt::format("{} {}", name, show(curve.y.back(), "B/s")));
    curves.series.push_back(curve);
  }
  views.table("ciphers.table", columns, sizes);
  views.chart("ciphers", std::move(curves), {{"ends", join(ends)}});
}

}  // namespace tabane::lab::aes_folder
