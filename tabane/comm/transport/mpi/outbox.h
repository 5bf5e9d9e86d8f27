// Packets, and sends that nobody waits for.
//
// MPI carries a message as a packet: 16 bytes that say what it is and up to
// 4 KiB of elements. Those of a larger one are a second MPI message, under a tag that the packet
// names:
//
//   sender                                   receiver
//   [bytes | bulk tag | type | elements] ──> matched by MPI: source, tag
//   [elements ……………………………………………………] ──> straight into the caller's buffer (> 4 KiB only)
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace tabane::comm::mpi {

constexpr std::size_t kSmallBytes = 4096;
constexpr std::size_t kAboutBytes = 16;

struct alignas(64) Packet {
  std::array<std::byte, 64 - kAboutBytes> unused;  // so that elements are aligned
  std::uint64_t bytes = 0;
  std::uint32_t bulk_tag = 0;
  std::uint16_t type = 0;
  std::uint16_t reserved = 0;
  std::array<std::byte, kSmallBytes> elements;

  void* start() { return &bytes; }
};
static_assert(offsetof(Packet, elements) == 64 && offsetof(Packet, bytes) == 48);

struct FreeAligned {
  void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeAligned>;

inline AlignedBytes allocate_aligned(std::size_t bytes) {
  return AlignedBytes(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64})));
}

// The most bytes that MPI is given as such, which counts in int: 1 GiB, or what the environment's
// TABANE_MPI_MOST_BYTES says, so that tests get along with less. The same on all ranks.
std::size_t most_bytes();

// Any number of bytes as MPI counts them.
class ByteCount {
 public:
  explicit ByteCount(std::size_t bytes) {
    const std::size_t most = most_bytes();
    if (bytes <= most) {
      count_ = static_cast<int>(bytes);
      return;
    }
    MPI_Datatype block;
    MPI_Type_contiguous(static_cast<int>(most), MPI_BYTE, &block);
    const std::array<int, 2> counts{static_cast<int>(bytes / most), static_cast<int>(bytes % most)};
    const std::array<MPI_Aint, 2> places{0, static_cast<MPI_Aint>(bytes / most * most)};
    const std::array<MPI_Datatype, 2> types{block, MPI_BYTE};
    MPI_Type_create_struct(2, counts.data(), places.data(), types.data(), &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&block);
    count_ = 1;
  }
  ~ByteCount() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);
  }
  ByteCount(const ByteCount&) = delete;
  ByteCount& operator=(const ByteCount&) = delete;

  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
};

class Engine;

// A send on its own: what it needs lives until it is sent.
struct DetachedSend {
  MPI_Request request = MPI_REQUEST_NULL;
  int peer = 0;
  std::unique_ptr<Packet> packet = {};
  AlignedBytes elements = {};
  bool is_mark = false;  // complete only when it is received
};

// Ranks are those of the world.
class Outbox {
 public:
  explicit Outbox(Engine& engine);
  // What nobody took stays: MPI may still read it.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  std::unique_ptr<Packet> take_packet();
  void give_back(std::unique_ptr<Packet> packet);

  bool empty() const { return detached_.empty(); }
  void detach(DetachedSend send);
  void progress();

  // MPI takes what it gets until memory ends. So each 128th small message to a rank is a mark, and
  // who has several marks on their way waits with the next send.
  bool next_is_mark(int peer) { return ++of(sent_, peer) % 128 == 0; }
  bool is_far_ahead_of(int peer) { return of(marks_, peer) > 4; }

 private:
  static int& of(std::vector<int>& values, int peer) {
    return values[static_cast<std::size_t>(peer)];
  }
  void end(DetachedSend send);

  Engine& engine_;
  std::vector<DetachedSend> detached_;
  std::vector<int> sent_, marks_;  // by rank
  std::size_t cursor_ = 0;
  std::vector<std::unique_ptr<Packet>> unused_;
};

}  // namespace tabane::comm::mpi
