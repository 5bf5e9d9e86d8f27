#include "tabane/crypto/cbc_cipher.h"

#include <algorithm>
#include <cstring>

#include "tabane/crypto/openssl.h"

#ifdef TABANE_IPSEC_MB
#include <intel-ipsec-mb.h>
#endif

namespace tabane::crypto {
namespace {

CipherContext make_context(std::span<const std::byte> key, int encrypts) {
  static const EVP_CIPHER* const aes_128 = EVP_CIPHER_fetch(nullptr, "AES-128-CBC", nullptr);
  static const EVP_CIPHER* const aes_256 = EVP_CIPHER_fetch(nullptr, "AES-256-CBC", nullptr);
  const EVP_CIPHER* const cipher = key.size() == 16 ? aes_128 : aes_256;
  CipherContext context(EVP_CIPHER_CTX_new());
  require(context && cipher != nullptr &&
              EVP_CipherInit_ex2(context.get(), cipher, in(key), nullptr, encrypts, nullptr) == 1 &&
              EVP_CIPHER_CTX_set_padding(context.get(), 0) == 1,
          "AES-CBC");
  return context;
}

const std::byte* last_block(const std::byte* bytes, std::size_t size) {
  return bytes + size - kBlockBytes;
}

void run(EVP_CIPHER_CTX* context, int encrypts, const ChainPiece& piece) {
  constexpr std::size_t kCallBytes = std::size_t{1} << 30;  // the length is an int
  bool good = EVP_CipherInit_ex2(context, nullptr, nullptr, in(*piece.iv), encrypts, nullptr) == 1;
  for (std::size_t done = 0; good && done < piece.bytes; done += kCallBytes) {
    const int here = static_cast<int>(std::min(kCallBytes, piece.bytes - done));
    int written = 0;
    good = EVP_CipherUpdate(context, reinterpret_cast<unsigned char*>(piece.out + done), &written,
                            reinterpret_cast<const unsigned char*>(piece.in + done), here) == 1 &&
           written == here;
  }
  require(good, "AES-CBC");
}

void encrypt_chain(EVP_CIPHER_CTX* context, const ChainPiece& piece) {
  if (piece.bytes == 0) return;
  run(context, 1, piece);
  std::memcpy(piece.iv, last_block(piece.out, piece.bytes), kBlockBytes);
}

#ifdef TABANE_IPSEC_MB

// The library keeps the lengths of its lanes in 16 bits.
constexpr std::size_t kCut = 65535 / kBlockBytes * kBlockBytes;

struct Lanes {
  Manager manager = make_manager();
  alignas(16) std::array<std::byte, 15 * kBlockBytes> encrypt_keys{}, decrypt_keys{};
  IMB_KEY_SIZE_BYTES key_size;

  explicit Lanes(std::span<const std::byte> key)
      : key_size(static_cast<IMB_KEY_SIZE_BYTES>(key.size())) {
    require(manager != nullptr, "intel-ipsec-mb");
    if (key.size() == 16) {
      IMB_AES_KEYEXP_128(manager.get(), key.data(), encrypt_keys.data(), decrypt_keys.data());
    } else {
      IMB_AES_KEYEXP_256(manager.get(), key.data(), encrypt_keys.data(), decrypt_keys.data());
    }
  }
  ~Lanes() {
    imb_clear_mem(encrypt_keys.data(), encrypt_keys.size());
    imb_clear_mem(decrypt_keys.data(), decrypt_keys.size());
  }
  Lanes(Lanes&&) = delete;
  Lanes& operator=(Lanes&&) = delete;

  std::size_t count() const {
    const bool vector_aes =
        manager->used_arch == IMB_ARCH_AVX512 && (manager->features & IMB_FEATURE_VAES) != 0;
    return vector_aes ? 16 : 8;
  }

  // Encrypts the beginning of every piece, at most kCut bytes, and moves the piece behind it.
  void encrypt_beginnings(std::span<ChainPiece> pieces) {
    std::array<IMB_JOB, IMB_MAX_BURST_SIZE> jobs;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      IMB_JOB& job = jobs[i];
      std::memset(&job, 0, sizeof job);
      job.enc_keys = encrypt_keys.data();
      job.dec_keys = decrypt_keys.data();
      job.key_len_in_bytes = key_size;
      job.src = reinterpret_cast<const std::uint8_t*>(pieces[i].in);
      job.dst = reinterpret_cast<std::uint8_t*>(pieces[i].out);
      job.msg_len_to_cipher_in_bytes = std::min(pieces[i].bytes, kCut);
      job.iv = reinterpret_cast<const std::uint8_t*>(pieces[i].iv);
      job.iv_len_in_bytes = kBlockBytes;
      job.cipher_mode = IMB_CIPHER_CBC;
      job.cipher_direction = IMB_DIR_ENCRYPT;
      job.hash_alg = IMB_AUTH_NULL;
      job.chain_order = IMB_ORDER_CIPHER_HASH;
    }
    const auto n = static_cast<std::uint32_t>(pieces.size());
    const std::uint32_t done = IMB_SUBMIT_CIPHER_BURST(manager.get(), jobs.data(), n,
                                                       IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, key_size);
    require(done == n, "AES-CBC of several chains");
    for (ChainPiece& piece : pieces) {
      const std::size_t bytes = std::min(piece.bytes, kCut);
      std::memcpy(piece.iv, last_block(piece.out, bytes), kBlockBytes);
      piece.in += bytes;
      piece.out += bytes;
      piece.bytes -= bytes;
    }
  }
};

// Keeps as many chains under way as a burst takes; the last one alone is faster without lanes.
void encrypt_chains(Lanes& lanes, EVP_CIPHER_CTX* alone, std::span<const ChainPiece> pieces) {
  std::array<ChainPiece, IMB_MAX_BURST_SIZE> running;
  std::size_t n = 0, next = 0;
  for (;;) {
    for (; n < running.size() && next < pieces.size(); ++next) {
      if (pieces[next].bytes > 0) running[n++] = pieces[next];
    }
    if (n <= 1) break;
    lanes.encrypt_beginnings(std::span(running).first(n));
    const auto finished = [](const ChainPiece& piece) { return piece.bytes == 0; };
    n = static_cast<std::size_t>(std::remove_if(running.begin(), running.begin() + n, finished) -
                                 running.begin());
  }
  if (n == 1) encrypt_chain(alone, running[0]);
}

#endif

}  // namespace

struct CbcCipher::State {
  CipherContext encrypting, decrypting;
#ifdef TABANE_IPSEC_MB
  std::unique_ptr<Lanes> lanes;
#endif
};

CbcCipher::CbcCipher(std::span<const std::byte> key, Engine engine)
    : state_(std::make_unique<State>()) {
  TABANE_ASSERT(key.size() == 16 || key.size() == 32);
  engine = resolve(engine);
  state_->encrypting = make_context(key, 1);
  state_->decrypting = make_context(key, 0);
#ifdef TABANE_IPSEC_MB
  if (engine == Engine::ipsec_mb) state_->lanes = std::make_unique<Lanes>(key);
#endif
}

CbcCipher::~CbcCipher() = default;

std::size_t CbcCipher::lanes() const {
#ifdef TABANE_IPSEC_MB
  if (state_->lanes) return state_->lanes->count();
#endif
  return 1;
}

void CbcCipher::encrypt(std::span<const ChainPiece> pieces) {
  for (const ChainPiece& piece : pieces) TABANE_ASSERT(piece.bytes % kBlockBytes == 0);
#ifdef TABANE_IPSEC_MB
  if (state_->lanes) {
    encrypt_chains(*state_->lanes, state_->encrypting.get(), pieces);
    return;
  }
#endif
  for (const ChainPiece& piece : pieces) encrypt_chain(state_->encrypting.get(), piece);
}

void CbcCipher::decrypt(const ChainPiece& piece) {
  TABANE_ASSERT(piece.bytes % kBlockBytes == 0);
  if (piece.bytes == 0) return;
  Block last;
  std::memcpy(last.data(), last_block(piece.in, piece.bytes), kBlockBytes);
  run(state_->decrypting.get(), 0, piece);
  *piece.iv = last;
}

std::size_t pad_pkcs7(std::byte* buffer, std::size_t bytes) {
  const std::size_t pad = kBlockBytes - bytes % kBlockBytes;
  std::memset(buffer + bytes, static_cast<int>(pad), pad);
  return bytes + pad;
}

std::ptrdiff_t unpad_pkcs7(std::span<const std::byte> bytes) {
  TABANE_ASSERT(!bytes.empty() && bytes.size() % kBlockBytes == 0);
  const auto block = bytes.last(kBlockBytes);
  const auto pad = std::to_integer<unsigned>(block.back());
  unsigned wrong = ((pad - 1) >> 4);  // not 0 unless 1 <= pad <= 16
  for (unsigned i = 0; i < kBlockBytes; ++i) {
    const unsigned is_pad = 0u - ((i - pad) >> 31);  // all bits if i < pad
    wrong |= is_pad & (std::to_integer<unsigned>(block[kBlockBytes - 1 - i]) ^ pad);
  }
  if (wrong != 0) return -1;
  return static_cast<std::ptrdiff_t>(bytes.size() - pad);
}

}  // namespace tabane::crypto
