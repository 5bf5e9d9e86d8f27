// AES on a coprocessor: the chains of CBC, one in each work item, and the chunks of sealed files,
// one in each group of them. Each thread has a slot of its own, in which its data go to the device,
// are encrypted and come back; while one slot computes, others are read, transferred and written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tabane/crypto/cbc_cipher.h"
#include "tabane/device/device.h"

namespace tabane::crypto {

// ---- for a few blocks: AES in plain words, slow and in a time that depends on the key ----

// Four bytes of a column, the first the lowest.
using Words = std::array<std::uint32_t, 4>;

inline constexpr std::size_t kMostRounds = 14;

// Wiped at the end.
struct RoundKeys {
  ~RoundKeys();

  std::array<Words, kMostRounds + 1> words{};  // of the start and of each round
  std::size_t rounds = 0;                      // 10 or 14
};

// key: 16 or 32 bytes.
RoundKeys expand_key(std::span<const std::byte> key);

Words encrypt_block(const RoundKeys& keys, Words block);

// A polynomial over GF(2) modulo that of GCM: the coefficient of degree 0 is the highest bit of
// `high`.
struct Polynomial {
  std::uint64_t high = 0, low = 0;

  friend bool operator==(const Polynomial&, const Polynomial&) = default;
  friend Polynomial operator+(const Polynomial& a, const Polynomial& b) {
    return {a.high ^ b.high, a.low ^ b.low};
  }
};
Polynomial operator*(Polynomial a, Polynomial b);

// Returns the key that GCM hashes with: the encrypted block of zeros.
Polynomial hash_key(const RoundKeys& keys);

// Returns base times the 16 polynomials of degree below 4, by their coefficients: that of degree 0
// is the highest of the four bits.
std::array<Polynomial, 16> multiples_of(Polynomial base);

// ---- on the device ----

// How the programs are built for a device; see aes.cl.
struct AesVariant {
  int tables = 1, copies = 1;
  std::size_t items = 1;  // of a chunk
  std::size_t group = 1;  // of chains: work items that share the tables
};
AesVariant variant_for(const device::Description& description);

// The device and the programs that the slots of a job share. Thread-safe.
class DeviceAes {
 public:
  // threads: how many will use it. variant: null: variant_for() the device.
  // throws: device::DeviceError.
  DeviceAes(std::unique_ptr<device::Device> opened, unsigned threads,
            const AesVariant* variant = nullptr);

  device::Device& device() { return *device_; }
  const AesVariant& variant() const { return variant_; }
  // rounds: 10 or 14. The first call with each builds the program, which takes long.
  // throws: device::DeviceError.
  device::Program& program(std::size_t rounds);
  const device::Buffer& tables() const { return *tables_; }

  // Files that a thread may have open at once: many chains make a device fast, and the system has a
  // limit.
  std::size_t chains_per_slot() const { return chains_per_slot_; }

  // Notes why a thread continues without the device; keeps the first reason.
  void note_failure(const std::exception& why);
  std::string remark() const;  // empty: there was none

 private:
  const std::unique_ptr<device::Device> device_;
  const AesVariant variant_;
  const std::size_t chains_per_slot_;
  std::unique_ptr<device::Buffer> tables_;
  mutable std::mutex mutex_;
  std::unique_ptr<device::Program> programs_[2];
  std::string remark_;
};

// A chunk in the slot's input, with room for its tag behind it.
struct DeviceChunk {
  std::uint32_t place = 0;  // in blocks
  std::uint32_t bytes = 0;  // plain
  std::uint32_t key = 0;    // which of the file keys
  std::uint32_t index = 0, last = 0;
  std::uint32_t opens = 0;  // else it is sealed
};

// The key of a file as aes.cl reads it: round keys, and for GCM powers and multiples of the hash
// key. Wiped at the end.
struct DeviceFileKey {
  DeviceFileKey() = default;
  // key: 32 bytes. items: of the variant.
  DeviceFileKey(std::span<const std::byte> key, std::size_t items);
  ~DeviceFileKey();
  DeviceFileKey(const DeviceFileKey&) = default;
  DeviceFileKey& operator=(const DeviceFileKey&) = default;

  Words round_keys[kMostRounds + 1]{};
  Polynomial powers[8]{};  // of the hash key: 1, 2, 4 …
  Polynomial multiples[16]{};
};

// The data of one thread. All memory is wiped at the end, also that of the device as far as the
// device still works.
class DeviceSlot {
 public:
  // bytes: of the input. throw: device::DeviceError, then the input is as it was.
  DeviceSlot(DeviceAes& aes, std::size_t bytes);
  ~DeviceSlot();
  DeviceSlot(const DeviceSlot&) = delete;
  DeviceSlot& operator=(const DeviceSlot&) = delete;

  // Calls work(), which uses the device. Returns false if that fails, which is noted, or has failed
  // before; the slot is but a buffer then.
  bool attempt(const auto& work) {
    if (!works_) return false;
    try {
      work();
    } catch (const device::DeviceError& error) {
      aes_.note_failure(error);
      works_ = false;
    }
    return works_;
  }

  // Data are put into the input; results appear at the same place in the output.
  std::size_t bytes() const { return bytes_; }  // of each
  std::span<std::byte> in() { return in_->bytes(); }
  std::span<std::byte> out() { return out_->bytes(); }

  // key: 16 or 32 bytes; to be called before encrypt().
  void set_key(std::span<const std::byte> key);
  struct Steps {
    double to_device_s = 0, kernel_s = 0, from_device_s = 0;
  };
  // Each piece begins at a multiple of a block of in(), and its `out` is the same place of out().
  // steps: if not null, each is awaited and measured.
  void encrypt(std::span<const ChainPiece> pieces, Steps* steps = nullptr);
  // Seals or opens chunks. Behind an opened one its computed tag is written. used: bytes of in()
  // that hold chunks.
  void work(std::span<const DeviceFileKey> keys, std::span<const DeviceChunk> chunks,
            std::size_t used);

 private:
  struct Place {
    std::uint32_t first, blocks;
  };

  void prepare(std::span<const ChainPiece> pieces);
  void launch_chains();
  device::Buffer& room_for(std::unique_ptr<device::Buffer>& buffer, std::size_t bytes);

  DeviceAes& aes_;
  const std::size_t bytes_;
  bool works_ = true;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::HostMemory> in_, out_;
  std::unique_ptr<device::Buffer> data_, places_, ivs_, keys_;
  std::unique_ptr<device::Kernel> chains_, chunks_;
  std::size_t used_ = 0;             // by the pieces at hand
  std::vector<Place> chain_places_;  // on their way
  std::vector<Block> chain_ivs_;
};

}  // namespace tabane::crypto
