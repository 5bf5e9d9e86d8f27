#include "tabane/workloads/aes_dir/sealed_format.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tabane/workloads/aes_dir/hkdf.h"
#include "tabane/workloads/aes_dir/openssl.h"

namespace tabane::workloads::aes_dir {
namespace {

constexpr std::array<unsigned char, 8> kMagic = {'T', 'B', 'N', 'S', 'E', 'A', 'L', 1};
constexpr std::size_t kBoundBytes = 64;  // of the header: what the keys depend on
constexpr int kAes256Gcm = 1;
constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostScryptMemory = std::uint64_t{4} << 30;  // what a header may ask for

std::span<const std::byte> text_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::array<std::byte, kBoundBytes> encode_fields(const Header& header) {
  std::array<std::byte, kBoundBytes> bytes{};
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  bytes[8] = static_cast<std::byte>(kAes256Gcm);
  bytes[9] = static_cast<std::byte>(header.source);
  bytes[10] = static_cast<std::byte>(header.chunk_log2);
  bytes[11] = static_cast<std::byte>(header.scrypt.log2_n);
  bytes[12] = static_cast<std::byte>(header.scrypt.r);
  bytes[13] = static_cast<std::byte>(header.scrypt.p);
  std::ranges::copy(header.scrypt.salt, bytes.begin() + 16);
  std::ranges::copy(header.file_salt, bytes.begin() + 32);
  return bytes;
}

void check_scrypt(const Header& header) {
  const ScryptParameters& s = header.scrypt;
  if (header.source == KeySource::scrypt) {
    if (!is_legal(s)) throw DamageError("the scrypt parameters are not legal", 11);
    return;
  }
  if (s.log2_n != 0 || s.r != 0 || s.p != 0) {
    throw DamageError("scrypt parameters with a key file", 11);
  }
  if (s.salt != decltype(s.salt){}) throw DamageError("a scrypt salt with a key file", 16);
}

}  // namespace

bool is_legal(const ScryptParameters& s) {
  return s.log2_n >= 10 && s.log2_n <= 22 && s.r >= 1 && s.r <= 32 && s.p >= 1 && s.p <= 16 &&
         s.log2_n < 16 * s.r;  // RFC 7914: N < 2^(16 r)
}

DamageError::DamageError(const std::string& what, std::uint64_t offset)
    : Error(fmt::format("at byte {}: {}", offset, what)), offset_(offset) {}

std::uint64_t sealed_bytes(std::uint64_t n, int chunk_log2) {
  const std::uint64_t chunk = std::uint64_t{1} << chunk_log2;
  const std::uint64_t chunks = std::max<std::uint64_t>(1, n / chunk + (n % chunk != 0));
  if (chunks > kMostChunks) {
    throw core::Error(fmt::format("a file of {} bytes has more than 2^32 chunks", n));
  }
  return kHeaderBytes + n + kTagBytes * chunks;
}

std::uint64_t opened_bytes(std::uint64_t sealed, int chunk_log2) {
  if (sealed < kHeaderBytes) throw DamageError("the file ends inside its header", sealed);
  const std::uint64_t whole = (std::uint64_t{1} << chunk_log2) + kTagBytes;
  const std::uint64_t body = sealed - kHeaderBytes;
  const std::uint64_t chunks = body / whole + (body % whole != 0);
  if (chunks == 0) throw DamageError("the file ends behind its header", sealed);
  if (chunks > kMostChunks) {
    throw DamageError("the file has more than 2^32 chunks", kHeaderBytes + kMostChunks * whole);
  }
  const std::uint64_t last = body - (chunks - 1) * whole;
  if (last < kTagBytes || (last == kTagBytes && chunks > 1)) {
    throw DamageError("the file ends inside a chunk", sealed - last);
  }
  return body - kTagBytes * chunks;
}

FileKeys derive_file_keys(const Header& header, const MasterKey& master) {
  thread_local HkdfSha256 hkdf;
  const auto bound = encode_fields(header);
  FileKeys keys;
  hkdf.extract(header.file_salt, master.bytes());
  hkdf.expand(text_bytes("tabane sealed file key 1"), bound, keys.key.bytes());
  hkdf.expand(text_bytes("tabane sealed key check 1"), bound, keys.check);
  hkdf.forget();
  return keys;
}

std::array<std::byte, kHeaderBytes> encode_header(const Header& header, const FileKeys& keys) {
  std::array<std::byte, kHeaderBytes> bytes{};
  std::ranges::copy(encode_fields(header), bytes.begin());
  std::ranges::copy(keys.check, bytes.begin() + kBoundBytes);
  return bytes;
}

Header decode_header(std::span<const std::byte> sealed) {
  if (sealed.size() < kHeaderBytes) {
    throw DamageError("the file ends inside its header", sealed.size());
  }
  const auto value = [&](std::size_t i) { return std::to_integer<std::uint8_t>(sealed[i]); };
  const auto refuse_if = [](bool bad, std::size_t offset, const char* what) {
    if (bad) throw DamageError(what, offset);
  };
  refuse_if(std::memcmp(sealed.data(), kMagic.data(), kMagic.size() - 1) != 0, 0,
            "not a sealed file");
  refuse_if(value(7) != kMagic[7], 7, "sealed in a version of the format that is not known here");
  refuse_if(value(8) != kAes256Gcm, 8, "sealed with a cipher that is not known here");
  refuse_if(value(9) > 1, 9, "the source of the key is not known here");
  refuse_if(value(10) < 12 || value(10) > 24, 10, "the chunk size is not legal");
  refuse_if(value(14) != 0 || value(15) != 0, 14, "reserved bytes are not 0");
  Header header{.source = static_cast<KeySource>(value(9)),
                .chunk_log2 = value(10),
                .scrypt = {.log2_n = value(11), .r = value(12), .p = value(13), .salt = {}},
                .file_salt = {}};
  std::ranges::copy(sealed.subspan(16, kScryptSaltBytes), header.scrypt.salt.begin());
  std::ranges::copy(sealed.subspan(32, kFileSaltBytes), header.file_salt.begin());
  check_scrypt(header);
  return header;
}

bool key_fits(std::span<const std::byte, kHeaderBytes> header, const FileKeys& keys) {
  return CRYPTO_memcmp(keys.check.data(), header.data() + kBoundBytes, kKeyCheckBytes) == 0;
}

MasterKey derive_master_key(std::span<const std::byte> passphrase,
                            const ScryptParameters& parameters) {
  if (!is_legal(parameters)) throw core::Error("the scrypt parameters are not legal");
  const std::uint64_t memory = parameters.memory();
  if (memory > kMostScryptMemory) {
    throw core::Error(fmt::format("scrypt would take {} MiB of memory", memory >> 20));
  }
  MasterKey master;
  // The library counts some blocks beside the table.
  const int good = EVP_PBE_scrypt(
      reinterpret_cast<const char*>(passphrase.data()), passphrase.size(), in(parameters.salt),
      parameters.salt.size(), std::uint64_t{1} << parameters.log2_n, parameters.r, parameters.p,
      memory + (std::uint64_t{1} << 20), out(master.bytes()), kMasterKeyBytes);
  require(good == 1, "scrypt (its memory may not be there)");
  return master;
}

void fill_random(std::span<std::byte> bytes) {
  require(RAND_bytes(out(bytes), static_cast<int>(bytes.size())) == 1, "random numbers");
}

}  // namespace tabane::workloads::aes_dir
