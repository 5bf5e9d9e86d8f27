#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/crypto/cbc_cipher.h"
#include "tabane/crypto/chunk_cipher.h"
#include "tabane/crypto/openssl.h"
#include "tabane/tools/encrypt/bench_place.h"

namespace tabane::bench {
namespace {

using namespace encrypt;

constexpr std::size_t kPiece = std::size_t{1} << 16;
constexpr std::size_t kStreams = 16;
// Addresses that differ by a multiple of 4 KiB share a set of the first-level cache; 16 streams go
// through all 64 sets this far apart.
constexpr std::size_t kStep = 4096 / kStreams;

constexpr std::array<std::byte, 32> kKey{std::byte{1}, std::byte{2}, std::byte{3}};

std::span<const std::byte> key_of(const CipherKind& kind) {
  return std::span(kKey).first(kind.key_bytes);
}

// What one worker does again and again in its caches: `process` works on so many bytes.
struct CoreWork {
  std::size_t bytes;
  std::function<void()> process;
};

CoreWork chunk_worker(Direction direction) {
  struct Chunk {
    core::Region memory{3 * kPiece};
    crypto::ChunkCipher cipher;
  };
  const auto own = std::make_shared<Chunk>();
  const std::span<std::byte> all = own->memory.as<std::byte>(), plain = all.first(kPiece),
                             sealed = all.subspan(kPiece + kStep, kPiece + crypto::kTagBytes);
  const auto seal = [=] { own->cipher.seal(0, false, plain, sealed); };
  own->cipher.set_key(kKey);
  seal();
  if (direction == Direction::encrypt) return {kPiece, seal};
  return {kPiece, [=] {
            if (own->cipher.open(0, false, sealed, plain)) return;
            throw core::Error("a sealed chunk does not open");
          }};
}

// Streams of one length that stand apart, each with its chain.
class Streams {
 public:
  Streams(std::size_t count, std::size_t bytes) : memory_(count * (bytes + kStep)), ivs_(count) {
    memory_.touch();
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const at = memory_.data() + i * (bytes + kStep);
      pieces_.push_back({at, at, bytes, &ivs_[i]});
    }
  }
  std::span<const crypto::ChainPiece> pieces() const { return pieces_; }

 private:
  core::Region memory_;
  std::vector<crypto::Block> ivs_;
  std::vector<crypto::ChainPiece> pieces_;
};

CoreWork chain_worker(const CipherKind& kind, Direction direction) {
  const auto cipher = std::make_shared<crypto::CbcCipher>(key_of(kind));
  const bool encrypts = direction == Direction::encrypt;
  const auto streams = std::make_shared<Streams>(encrypts ? cipher->lanes() : 1, kPiece);
  if (encrypts) return {cipher->lanes() * kPiece, [=] { cipher->encrypt(streams->pieces()); }};
  return {kPiece, [=] { cipher->decrypt(streams->pieces()[0]); }};
}

class EvpStream {
 public:
  explicit EvpStream(const CipherKind& kind) : context_(EVP_CIPHER_CTX_new()) {
    const crypto::Block iv{};
    const EVP_CIPHER* cipher = kind.key_bytes == 16 ? EVP_aes_128_cbc() : EVP_aes_256_cbc();
    if (!context_ || EVP_EncryptInit_ex(context_.get(), cipher, nullptr, crypto::in(kKey),
                                        crypto::in(iv)) != 1) {
      throw core::Error("OpenSSL has no " + kind.name);
    }
    EVP_CIPHER_CTX_set_padding(context_.get(), 0);
  }
  void encrypt(const crypto::ChainPiece& piece) {
    int written = 0;
    EVP_EncryptUpdate(context_.get(), crypto::out({piece.out, piece.bytes}), &written,
                      crypto::in({piece.in, piece.bytes}), static_cast<int>(piece.bytes));
  }

 private:
  crypto::CipherContext context_;
};

void ask_streams_of(Panel& panel, const CipherKind& kind, std::size_t bytes) {
  const std::string name = "16 streams of " + core::format_bytes(bytes) + ", 1 core, " + kind.name;
  if (!panel.wants(name)) return;
  crypto::CbcCipher cipher(key_of(kind));
  const Streams streams(kStreams, bytes), alone(1, bytes);
  EvpStream evp(kind);
  Question question{name, "B/s", {}, {}};
  question.ours = {.name = "tabane",
                   .work = core::repeat([&] { cipher.encrypt(streams.pieces()); }),
                   .amount = static_cast<double>(kStreams * bytes)};
  question.peers.push_back(
      {.name = "OpenSSL EVP, 1 stream",
       .work = core::repeat([&] { evp.encrypt(alone.pieces()[0]); }),
       .amount = static_cast<double>(bytes),
       .target = 7,
       .how = std::string("EVP in this process; ") + OpenSSL_version(OPENSSL_VERSION)});
  question.peers.push_back({.name = "tabane, 1 stream",
                            .work = core::repeat([&] { cipher.encrypt(alone.pieces()); }),
                            .amount = static_cast<double>(bytes),
                            .target = 0,
                            .how = "the same cipher, one stream"});
  panel.ask(question);
}

}  // namespace

std::vector<CipherKind> all_ciphers() {
  return {{Cipher::aes_128_cbc, "aes-128-cbc", "-aes-128-cbc", 16},
          {Cipher::aes_256_cbc, "aes-256-cbc", "-aes-256-cbc", 32},
          {Cipher::aes_256_gcm, "aes-256-gcm", "-aes-256-cbc", 32}};
}

CipherKind gcm() { return all_ciphers().back(); }

Contender aes_alone(const CipherKind& kind, Direction direction, std::uint64_t bytes,
                    core::PinnedPool& pool) {
  std::vector<CoreWork> workers;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    workers.push_back(kind.chained() ? chain_worker(kind, direction) : chunk_worker(direction));
  }
  const auto once = [workers, bytes, &pool] {
    std::atomic<std::uint64_t> taken{0};
    pool.run([&](std::size_t i) {
      const CoreWork& worker = workers[i];
      while (taken.fetch_add(worker.bytes, std::memory_order_relaxed) < bytes) worker.process();
    });
  };
  return {.name = "AES alone in memory, all cores",
          .work = core::repeat(once),
          .amount = static_cast<double>(bytes),
          .target = 0,
          .how = "tabane's cipher in caches, one worker per PU, no files"};
}

void ask_streams(Panel& panel, unsigned pu) {
  const core::ScopedBinding bound(pu);
  for (const CipherKind& kind : all_ciphers()) {
    if (!kind.chained()) continue;
    for (const std::size_t bytes : {std::size_t{16} << 10, std::size_t{1} << 20}) {
      ask_streams_of(panel, kind, bytes);
    }
  }
}

}  // namespace tabane::bench
