#include "tabane/crypto/device_aes.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"

namespace tabane::crypto {
namespace {

constexpr const char* kAesSource =
#include "tabane/crypto/aes.cl"
    ;

constexpr std::uint8_t doubled(std::uint8_t x) {
  return static_cast<std::uint8_t>((x << 1) ^ ((x >> 7) * 0x1b));
}

// FIPS 197, 5.1.1: the inverse in GF(2^8), then an affine map. p runs through the powers of 3, q
// through those of its inverse.
constexpr std::array<std::uint8_t, 256> make_sub_bytes() {
  std::array<std::uint8_t, 256> table{};
  std::uint8_t p = 1, q = 1;
  do {
    p = static_cast<std::uint8_t>(p ^ doubled(p));
    q = static_cast<std::uint8_t>(q ^ (q << 1));
    q = static_cast<std::uint8_t>(q ^ (q << 2));
    q = static_cast<std::uint8_t>(q ^ (q << 4));
    if (q & 0x80) q = static_cast<std::uint8_t>(q ^ 0x09);
    table[p] = static_cast<std::uint8_t>(q ^ std::rotl(q, 1) ^ std::rotl(q, 2) ^ std::rotl(q, 3) ^
                                         std::rotl(q, 4) ^ 0x63);
  } while (p != 1);
  table[0] = 0x63;
  return table;
}
constexpr std::array<std::uint8_t, 256> kSubBytes = make_sub_bytes();

// MixColumns of SubBytes of each byte in row 0; for row r the words are rotated left by 8 r bits.
constexpr std::array<std::uint32_t, 256> make_mixed() {
  std::array<std::uint32_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::uint32_t s = kSubBytes[i], two = doubled(kSubBytes[i]);
    table[i] = two | s << 8 | s << 16 | (two ^ s) << 24;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kMixed = make_mixed();

std::uint32_t sub_word(std::uint32_t word) {
  std::uint32_t result = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    result |= std::uint32_t{kSubBytes[(word >> shift) & 0xff]} << shift;
  }
  return result;
}

std::uint32_t load(std::span<const std::byte> bytes) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  return word;
}

std::uint64_t big_endian(std::uint32_t first, std::uint32_t second) {
  return std::uint64_t{__builtin_bswap32(first)} << 32 | __builtin_bswap32(second);
}

Polynomial times_x(Polynomial a) {
  const std::uint64_t leaving = a.low & 1;
  return {(a.high >> 1) ^ (leaving * 0xe100000000000000), (a.low >> 1) | (a.high << 63)};
}

}  // namespace

RoundKeys::~RoundKeys() { wipe(std::as_writable_bytes(std::span(words))); }

RoundKeys expand_key(std::span<const std::byte> key) {
  TABANE_ASSERT(key.size() == 16 || key.size() == 32);
  RoundKeys keys;
  const std::size_t length = key.size() / 4;  // words
  keys.rounds = length + 6;
  const auto word = [&](std::size_t i) -> std::uint32_t& { return keys.words[i / 4][i % 4]; };
  for (std::size_t i = 0; i < length; ++i) word(i) = load(key.subspan(4 * i));
  std::uint8_t constant = 1;
  for (std::size_t i = length; i < 4 * (keys.rounds + 1); ++i) {
    std::uint32_t next = word(i - 1);
    if (i % length == 0) {
      next = sub_word(std::rotr(next, 8)) ^ constant;
      constant = doubled(constant);
    } else if (length == 8 && i % length == 4) {
      next = sub_word(next);
    }
    word(i) = word(i - length) ^ next;
  }
  return keys;
}

Words encrypt_block(const RoundKeys& keys, Words s) {
  const auto byte = [&](std::size_t row, std::size_t column) {
    return (s[(column + row) % 4] >> (8 * row)) & 0xff;  // with ShiftRows
  };
  for (std::size_t i = 0; i < 4; ++i) s[i] ^= keys.words[0][i];
  for (std::size_t round = 1; round <= keys.rounds; ++round) {
    Words next = keys.words[round];
    for (std::size_t column = 0; column < 4; ++column) {
      for (std::size_t row = 0; row < 4; ++row) {
        next[column] ^= round < keys.rounds
                            ? std::rotl(kMixed[byte(row, column)], static_cast<int>(8 * row))
                            : std::uint32_t{kSubBytes[byte(row, column)]} << (8 * row);
      }
    }
    s = next;
  }
  return s;
}

Polynomial operator*(Polynomial a, Polynomial b) {
  Polynomial sum;
  for (int i = 0; i < 128; ++i) {
    const std::uint64_t word = i < 64 ? a.high : a.low;
    if (word >> (63 - i % 64) & 1) sum = sum + b;
    b = times_x(b);
  }
  return sum;
}

Polynomial hash_key(const RoundKeys& keys) {
  const Words h = encrypt_block(keys, Words{});
  return {big_endian(h[0], h[1]), big_endian(h[2], h[3])};
}

std::array<Polynomial, 16> multiples_of(Polynomial base) {
  std::array<Polynomial, 16> multiples{};
  for (std::size_t one = 8; one > 0; one /= 2, base = times_x(base)) {
    for (std::size_t i = 0; i < 16; ++i) {
      if (i & one) multiples[i] = multiples[i] + base;
    }
  }
  return multiples;
}

namespace {

// In all threads together: some dozens for each unit of a large device.
constexpr std::size_t kChains = 8192, kMostChains = 2048;
constexpr std::uint64_t kLocalBytesForCopies = std::uint64_t{40} << 10;

// An input and an output each, and some for the rest of the program.
std::size_t chains_of(unsigned threads) {
  constexpr std::size_t kForOthers = 128, kPerFile = 3;
  const std::size_t wanted = std::clamp<std::size_t>(kChains / threads, 1, kMostChains);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return wanted;
  const auto all = static_cast<std::size_t>(files.rlim_cur);
  const std::size_t free = all > kForOthers ? all - kForOthers : 0;
  return std::clamp<std::size_t>(free / (kPerFile * threads), 1, wanted);
}

std::unique_ptr<device::Buffer> copy_tables(device::Device& device, const AesVariant& variant) {
  std::vector<std::uint32_t> words;
  for (int row = 0; row < variant.tables; ++row) {
    for (const std::uint32_t word : kMixed) words.push_back(std::rotl(word, 8 * row));
  }
  auto buffer = device.buffer(words.size() * sizeof words[0]);
  const auto queue = device.queue();
  queue->write(*buffer, 0, std::as_bytes(std::span(words)));
  queue->finish();
  return buffer;
}

std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

// Banks of local memory make a copy for each work item of a warp the fastest on GPUs; a CPU has
// caches, and instructions for rotating cost it more than the larger tables.
AesVariant variant_for(const device::Description& description) {
  if (description.kind == device::Kind::cpu) {
    return {.tables = 4, .copies = 1, .items = 4, .group = 4};
  }
  if (description.local_bytes >= kLocalBytesForCopies) {
    return {.tables = 1, .copies = 32, .items = 128, .group = 32};
  }
  return {.tables = 1, .copies = 8, .items = 64, .group = 32};
}

DeviceAes::DeviceAes(std::unique_ptr<device::Device> opened, unsigned threads,
                     const AesVariant* variant)
    : device_(std::move(opened)),
      variant_(variant ? *variant : variant_for(device_->description())),
      chains_per_slot_(chains_of(std::max(1u, threads))),
      tables_(copy_tables(*device_, variant_)) {}

device::Program& DeviceAes::program(std::size_t rounds) {
  const std::lock_guard lock(mutex_);
  auto& program = programs_[rounds == 14];
  if (!program) {
    program = device_->program(kAesSource,
                               fmt::format("-DROUNDS={} -DTABLES={} -DCOPIES={} -DITEMS={}", rounds,
                                           variant_.tables, variant_.copies, variant_.items));
  }
  return *program;
}

void DeviceAes::note_failure(const std::exception& why) {
  const std::lock_guard lock(mutex_);
  if (!remark_.empty()) return;
  remark_ = fmt::format("{} was of no more use ({}): the CPU has done the rest",
                        device_->description().name, why.what());
}

std::string DeviceAes::remark() const {
  const std::lock_guard lock(mutex_);
  return remark_;
}

DeviceFileKey::DeviceFileKey(std::span<const std::byte> key, std::size_t items) {
  const RoundKeys expanded = expand_key(key);
  std::ranges::copy(expanded.words, round_keys);
  powers[0] = hash_key(expanded);
  for (std::size_t i = 1; i < std::size(powers); ++i) powers[i] = powers[i - 1] * powers[i - 1];
  std::size_t log2 = 0;
  while (std::size_t{1} << log2 < items) ++log2;
  TABANE_ASSERT(std::size_t{1} << log2 == items && log2 < std::size(powers));
  std::ranges::copy(multiples_of(powers[log2]), multiples);
}

DeviceFileKey::~DeviceFileKey() { wipe(std::as_writable_bytes(std::span(this, 1))); }

DeviceSlot::DeviceSlot(DeviceAes& aes, std::size_t bytes)
    : aes_(aes),
      bytes_(bytes),
      queue_(aes.device().queue()),
      in_(aes.device().host_memory(bytes)),
      out_(aes.device().host_memory(bytes)),
      data_(aes.device().buffer(bytes)) {
  TABANE_ASSERT(bytes / kBlockBytes <= std::numeric_limits<std::uint32_t>::max());
}

DeviceSlot::~DeviceSlot() {
  wipe(in());
  wipe(out());
  try {
    for (const auto& buffer : {&data_, &keys_, &ivs_}) {
      if (*buffer) queue_->zero(**buffer);
    }
    queue_->finish();
  } catch (const device::DeviceError&) {
    // The device has failed; its memory is up to the driver.
  }
}

device::Buffer& DeviceSlot::room_for(std::unique_ptr<device::Buffer>& buffer, std::size_t bytes) {
  if (!buffer || buffer->bytes() < bytes) {
    if (buffer) queue_->zero(*buffer);
    queue_->finish();
    buffer.reset();
    buffer = aes_.device().buffer(round_up(bytes, 4096));
  }
  return *buffer;
}

void DeviceSlot::set_key(std::span<const std::byte> key) {
  const RoundKeys expanded = expand_key(key);
  const auto bytes = std::as_bytes(std::span(expanded.words).first(expanded.rounds + 1));
  queue_->write(room_for(keys_, bytes.size()), 0, bytes);
  queue_->finish();
  chains_ = aes_.program(expanded.rounds).kernel("encrypt_chains");
}

void DeviceSlot::prepare(std::span<const ChainPiece> pieces) {
  chain_places_.clear();
  chain_ivs_.clear();
  used_ = 0;
  for (const ChainPiece& piece : pieces) {
    if (piece.bytes == 0) continue;
    const auto place = static_cast<std::size_t>(piece.in - in().data());
    TABANE_ASSERT(place % kBlockBytes == 0 && place + piece.bytes <= in().size() &&
                  piece.out == out().data() + place);
    chain_places_.push_back({.first = static_cast<std::uint32_t>(place / kBlockBytes),
                             .blocks = static_cast<std::uint32_t>(piece.bytes / kBlockBytes)});
    chain_ivs_.push_back(*piece.iv);
    used_ = std::max(used_, place + piece.bytes);
  }
  if (used_ == 0) return;
  room_for(places_, std::span(chain_places_).size_bytes());
  room_for(ivs_, std::span(chain_ivs_).size_bytes());
}

void DeviceSlot::launch_chains() {
  const std::size_t chains = chain_places_.size();
  chains_->set(0, *data_);
  chains_->set(1, *places_);
  chains_->set(2, *ivs_);
  chains_->set(3, *keys_);
  chains_->set(4, aes_.tables());
  chains_->set_value(5, static_cast<std::uint32_t>(chains));
  const std::size_t group = aes_.variant().group;
  queue_->launch(*chains_, round_up(chains, group), group);
}

void DeviceSlot::encrypt(std::span<const ChainPiece> pieces, Steps* steps) {
  using Clock = std::chrono::steady_clock;
  const auto step = [&](double Steps::*seconds, const auto& work) {
    const auto begin = Clock::now();
    work();
    if (!steps) return;
    queue_->finish();
    steps->*seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  };
  prepare(pieces);
  if (used_ == 0) return;
  step(&Steps::to_device_s, [&] {
    queue_->write(*data_, 0, in().first(used_));
    queue_->write(*places_, 0, std::as_bytes(std::span(chain_places_)));
    queue_->write(*ivs_, 0, std::as_bytes(std::span(chain_ivs_)));
  });
  step(&Steps::kernel_s, [&] { launch_chains(); });
  step(&Steps::from_device_s, [&] { queue_->read(*data_, 0, out().first(used_)); });
  queue_->finish();
  for (const ChainPiece& piece : pieces) {
    if (piece.bytes == 0) continue;
    std::memcpy(piece.iv, piece.out + piece.bytes - kBlockBytes, kBlockBytes);
  }
}

void DeviceSlot::work(std::span<const DeviceFileKey> keys, std::span<const DeviceChunk> chunks,
                      std::size_t used) {
  if (chunks.empty()) return;
  TABANE_ASSERT(used <= in().size());
  if (!chunks_) chunks_ = aes_.program(kMostRounds).kernel("work_chunks");
  queue_->write(*data_, 0, in().first(used));
  queue_->write(room_for(keys_, keys.size_bytes()), 0, std::as_bytes(keys));
  queue_->write(room_for(places_, chunks.size_bytes()), 0, std::as_bytes(chunks));
  chunks_->set(0, *data_);
  chunks_->set(1, *places_);
  chunks_->set(2, *keys_);
  chunks_->set(3, aes_.tables());
  const std::size_t items = aes_.variant().items;
  queue_->launch(*chunks_, chunks.size() * items, items);
  queue_->read(*data_, 0, out().first(used));
  queue_->finish();
}

}  // namespace tabane::crypto
