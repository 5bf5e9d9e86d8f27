#include "tabane/tools/encrypt/sealed_format.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#include "tabane/core/file.h"
#include "tabane/crypto/chunk_cipher.h"
#include "tabane/crypto/openssl.h"

namespace tabane::encrypt {
namespace {

constexpr std::array<unsigned char, 7> kSealedMagic = {'T', 'B', 'N', 'S', 'E', 'A', 'L'};
constexpr std::size_t kFieldBytes = 64;  // of the header: what the keys depend on
constexpr int kAes256Gcm = 1;
constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 32;

unsigned version_of(KeySource source) { return source == KeySource::tree_key ? 2 : 1; }

std::array<std::byte, kFieldBytes> encode_fields(const Header& header) {
  std::array<std::byte, kFieldBytes> bytes{};
  std::memcpy(bytes.data(), kSealedMagic.data(), kSealedMagic.size());
  bytes[7] = static_cast<std::byte>(version_of(header.source));
  bytes[8] = static_cast<std::byte>(kAes256Gcm);
  bytes[9] = static_cast<std::byte>(header.source);
  bytes[10] = static_cast<std::byte>(header.chunk_log2);
  bytes[11] = static_cast<std::byte>(header.scrypt.log2_n);
  bytes[12] = static_cast<std::byte>(header.scrypt.r);
  bytes[13] = static_cast<std::byte>(header.scrypt.p);
  const auto& name = header.source == KeySource::tree_key ? header.tree : header.scrypt.salt;
  std::ranges::copy(name, bytes.begin() + 16);
  std::ranges::copy(header.file_salt, bytes.begin() + 32);
  return bytes;
}

void check_scrypt(const Header& header) {
  const crypto::ScryptParameters& s = header.scrypt;
  if (header.source == KeySource::scrypt) {
    if (!crypto::is_legal(s)) throw DamageError("the scrypt parameters are not legal", 11);
    return;
  }
  if (s.log2_n != 0 || s.r != 0 || s.p != 0) {
    throw DamageError("scrypt parameters where no passphrase is", 11);
  }
  if (s.salt != decltype(s.salt){}) throw DamageError("a scrypt salt with a key file", 16);
}

struct Labels {
  std::string_view key, check;
};

Labels labels_of(KeySource source, Content content) {
  if (source != KeySource::tree_key) {
    TABANE_ASSERT(content == Content::file);
    return {"tabane sealed file key 1", "tabane sealed key check 1"};
  }
  if (content == Content::manifest) return {"tabane manifest key 2", "tabane manifest check 2"};
  return {"tabane sealed file key 2", "tabane sealed key check 2"};
}

std::size_t slots_length(std::span<const std::byte> sealed) {
  std::size_t length = 0;
  for (const std::byte b : sealed.subspan(kHeaderBytes, kSlotsAt - kHeaderBytes)) {
    length = length << 8 | std::to_integer<std::size_t>(b);
  }
  return length;
}

void read_slots(std::span<const std::byte> sealed, Header& header) {
  if (sealed.size() < kSlotsAt) throw DamageError("the file ends inside its header", sealed.size());
  const std::size_t length = slots_length(sealed);
  if (length < 1 || length > kMostSlotsBytes) {
    throw DamageError("the length of the slots is not legal", kHeaderBytes);
  }
  if (sealed.size() - kSlotsAt < length) {
    throw DamageError("the file ends inside its header", sealed.size());
  }
  set_slots(header, sealed.subspan(kSlotsAt, length));
}

}  // namespace

DamageError::DamageError(const std::string& what, std::uint64_t offset)
    : Error("at byte {}: {}", offset, what), offset_(offset) {}

VersionError::VersionError(const char* what, unsigned found, const char* known,
                           std::uint64_t offset)
    : DamageError(fmt::format("{} in a version of the format that this tabane does not read: it "
                              "says {}, and {} can be read here; use the tabane that wrote it",
                              what, found, known),
                  offset) {}

std::uint64_t sealed_bytes(std::uint64_t n, int chunk_log2, std::size_t header_bytes) {
  const std::uint64_t chunk = std::uint64_t{1} << chunk_log2;
  const std::uint64_t chunks = std::max<std::uint64_t>(1, n / chunk + (n % chunk != 0));
  if (chunks > kMostChunks) {
    throw core::Error("a file of {} bytes has more than 2^32 chunks", n);
  }
  return header_bytes + n + crypto::kTagBytes * chunks;
}

std::uint64_t opened_bytes(std::uint64_t sealed, int chunk_log2, std::size_t header_bytes) {
  if (sealed < header_bytes) throw DamageError("the file ends inside its header", sealed);
  const std::uint64_t whole = (std::uint64_t{1} << chunk_log2) + crypto::kTagBytes;
  const std::uint64_t body = sealed - header_bytes;
  const std::uint64_t chunks = body / whole + (body % whole != 0);
  if (chunks == 0) throw DamageError("the file ends behind its header", sealed);
  if (chunks > kMostChunks) {
    throw DamageError("the file has more than 2^32 chunks", header_bytes + kMostChunks * whole);
  }
  const std::uint64_t last = body - (chunks - 1) * whole;
  if (last < crypto::kTagBytes || (last == crypto::kTagBytes && chunks > 1)) {
    throw DamageError("the file ends inside a chunk", sealed - last);
  }
  return body - crypto::kTagBytes * chunks;
}

FileKeys derive_file_keys(const Header& header, const MasterKey& key, Content content) {
  thread_local crypto::HkdfSha256 hkdf;
  const Labels labels = labels_of(header.source, content);
  std::array<std::byte, kFieldBytes + sizeof(crypto::Sha256Sum)> bound;
  std::ranges::copy(encode_fields(header), bound.begin());
  std::ranges::copy(header.slots_digest, bound.begin() + kFieldBytes);
  const bool slots = header.source == KeySource::tree_key;
  const auto context = std::span(bound).first(slots ? bound.size() : kFieldBytes);
  FileKeys keys;
  hkdf.extract(header.file_salt, key.bytes());
  hkdf.expand(std::as_bytes(std::span(labels.key)), context, keys.key.bytes());
  hkdf.expand(std::as_bytes(std::span(labels.check)), context, keys.check);
  hkdf.forget();
  return keys;
}

std::vector<std::byte> embed_slots(std::span<const std::byte> slots) {
  TABANE_ASSERT(!slots.empty() && slots.size() <= kMostSlotsBytes);
  std::vector<std::byte> bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::byte>(slots.size() >> shift & 255));
  }
  bytes.insert(bytes.end(), slots.begin(), slots.end());
  return bytes;
}

void set_slots(Header& header, std::span<const std::byte> slots) {
  thread_local std::vector<std::byte> last;
  thread_local crypto::Sha256Sum digest;
  if (!std::ranges::equal(last, slots)) {
    digest = crypto::sha256(slots);
    last.assign(slots.begin(), slots.end());
  }
  header.slots_bytes = static_cast<std::uint32_t>(slots.size());
  header.slots_digest = digest;
}

std::size_t header_bytes(std::span<const std::byte> first) {
  if (first.size() < kSlotsAt || first[7] != std::byte{2}) return kHeaderBytes;
  const std::size_t length = slots_length(first);
  return length > kMostSlotsBytes ? kSlotsAt : kSlotsAt + length;
}

std::array<std::byte, kHeaderBytes> encode_header(const Header& header, const FileKeys& keys) {
  std::array<std::byte, kHeaderBytes> bytes{};
  std::ranges::copy(encode_fields(header), bytes.begin());
  std::ranges::copy(keys.check, bytes.begin() + kFieldBytes);
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
  refuse_if(std::memcmp(sealed.data(), kSealedMagic.data(), kSealedMagic.size()) != 0, 0,
            "not a sealed file");
  if (value(7) < 1 || value(7) > 2) throw VersionError("sealed", value(7), "1 and 2", 7);
  refuse_if(value(8) != kAes256Gcm, 8, "sealed with a cipher that is not known here");
  refuse_if(value(9) > 2 || version_of(static_cast<KeySource>(value(9))) != value(7), 9,
            "the source of the key is not known here");
  refuse_if(value(10) < 12 || value(10) > 24, 10, "the chunk size is not legal");
  refuse_if(value(14) != 0 || value(15) != 0, 14, "reserved bytes are not 0");
  Header header;
  header.source = static_cast<KeySource>(value(9));
  header.chunk_log2 = value(10);
  header.scrypt.log2_n = value(11);
  header.scrypt.r = value(12);
  header.scrypt.p = value(13);
  const bool of_tree = header.source == KeySource::tree_key;
  std::ranges::copy(sealed.subspan(16, kTreeIdBytes),
                    of_tree ? header.tree.begin() : header.scrypt.salt.begin());
  std::ranges::copy(sealed.subspan(32, kFileSaltBytes), header.file_salt.begin());
  check_scrypt(header);
  if (of_tree) read_slots(sealed, header);
  return header;
}

bool key_fits(std::span<const std::byte, kHeaderBytes> header, const FileKeys& keys) {
  return CRYPTO_memcmp(keys.check.data(), header.data() + kFieldBytes, kKeyCheckBytes) == 0;
}

std::vector<std::byte> read_header(int file, std::string_view what) {
  std::array<std::byte, 1024> first;
  const std::size_t there = core::read_all_at(file, first.data(), first.size(), 0, what);
  const std::size_t wanted = header_bytes(std::span(first).first(there));
  std::vector<std::byte> header(
      first.begin(), first.begin() + static_cast<std::ptrdiff_t>(std::min(there, wanted)));
  if (wanted <= there || there < first.size()) return header;
  header.resize(wanted);
  header.resize(there +
                core::read_all_at(file, header.data() + there, wanted - there, there, what));
  return header;
}

}  // namespace tabane::encrypt
