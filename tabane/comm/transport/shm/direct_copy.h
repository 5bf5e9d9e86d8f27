// One copy of a large message, from the sender's memory to the receiver's, by the kernel
// (process_vm_readv, process_vm_writev). Both ranks wait for it anyway, so both copy: the receiver
// from the front, the sender from the back, until they meet.
//
// The large messages of a pair take one of two ways: through blocks, which is two copies, or
// directly, which is one that the kernel makes after it has found and pinned each page. Which is
// faster depends on whether the machine is a virtual one, where pages cost more, and on the
// program: of 64 KiB that the sender has written anew, one copy takes 14 us and two take 7; of the
// same bytes again and again, which both caches have, 3 and 5. So messages of each size go both
// ways in turn at first, and the receiver, which sees how long they take, decides by the median of
// several: the best would favour a way that is only sometimes fast.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tabane::comm::shm {

// process_vm_readv or process_vm_writev.
using VmCall = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                           unsigned long);
// Copies all bytes between `here` and `there` in process `pid`, though the kernel may copy less at
// once. Returns 0, or errno.
int copy_all(VmCall call, pid_t pid, std::byte* here, std::byte* there, std::size_t bytes);

// Whether this kernel lets process `pid` be read and written; tried once with a few bytes at
// `address` of that process. (They are only read: the kernel asks for the same right to write.)
bool can_copy_directly(pid_t pid, const void* address);

// In shared memory. Filled in while nobody works on it: begin() by the receiver, with both sides'
// addresses, then both call work_as_…(); a side that sees is_done() may reuse its buffer.
struct alignas(64) DirectCopy {
  std::atomic<std::uint32_t> open{0};   // 1: the fields below are there
  std::atomic<std::uint32_t> error{0};  // errno of the side that failed first
  std::atomic<std::uint64_t> taken{0};  // pieces taken from the front, and << 32 from the back
  std::atomic<std::uint32_t> ended{0};  // pieces taken and copied, or given up
  pid_t sender = 0, receiver = 0;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t bytes = 0;
};

// What a side takes at once: a quarter, since each system call costs, but no more than lets both
// end at about the same time.
inline constexpr std::size_t kLeastPieceBytes = 64 * 1024, kMostPieceBytes = 256 * 1024;
std::size_t piece_bytes_of(const DirectCopy& copy);  // a multiple of 4 KiB

// Makes `copy`, whose pids, addresses and size are filled in, ready for work, also after another.
// Then the other side is to be woken.
void begin(DirectCopy& copy);

// Of a copy that is open.
std::uint32_t pieces_of(const DirectCopy& copy);
// All bytes are there.
bool is_done(const DirectCopy& copy);
// The kernel refused, and neither side copies any more: the message may be sent in another way. The
// receiver's buffer holds some of it.
bool has_failed(const DirectCopy& copy);

// Nobody takes more pieces of an open copy; a side that is at one ends it: has_failed() says when.
void withdraw(DirectCopy& copy);

// Copies pieces until none is left to take; the other side may still be copying its last one.
// Returns false if the kernel refused, to this side or the other (error says why: ESRCH if the
// process is gone, EPERM or ENOSYS if it may not be copied, EFAULT if its memory is not there):
// then nobody takes more pieces. The side that ends last is to wake the other.
bool work_as_receiver(DirectCopy& copy);
bool work_as_sender(DirectCopy& copy);
// The receiver copies all, in one call, while the sender does not work. Returns as the others.
bool copy_alone(DirectCopy& copy);

enum class Way : std::uint8_t { undecided, blocks, direct };

// Messages of up to 32, 128 and 512 KiB. Of larger ones direct copies are always faster.
inline constexpr int kWayClasses = 3;
inline constexpr std::size_t kMostTriedBytes = 512 * 1024;
inline int way_class(std::size_t bytes) {
  return bytes <= 32 * 1024 ? 0 : bytes <= 128 * 1024 ? 1 : 2;
}

// What a receiver has seen of one sender's messages. A decision holds for a while: the first
// messages of a size are not like later ones, whose bytes the caches know.
class WayTimes {
 public:
  // A message of that size begins to come. Returns whether it is time to decide anew, so that the
  // sender is to try both ways again.
  bool begins_anew(std::size_t bytes);
  // Whether times of such messages are still of use.
  bool wants(std::size_t bytes) const {
    return bytes <= kMostTriedBytes && classes_[index(bytes)].rest == 0;
  }
  // A message took `ns` that way, not undecided. Returns the way that is faster when this is known
  // for its class, else undecided.
  Way note(std::size_t bytes, Way way, double ns);

 private:
  static constexpr std::size_t kSamples = 5;
  static constexpr int kFirstRest = 64, kMostRest = 2048;  // messages
  // Of the time through blocks: what a direct copy may take. The sender's cache has to get its
  // lines back before it writes them again, which the receiver does not see.
  static constexpr double kMostOfBlocks = 0.75;
  struct Times {
    std::size_t count = 0;
    std::array<double, kSamples> per_byte{};
    double median() const;
  };
  struct Class {
    Times blocks, direct;
    int rest = 0, next_rest = kFirstRest;  // messages until it is decided anew
  };
  static std::size_t index(std::size_t bytes) { return static_cast<std::size_t>(way_class(bytes)); }

  std::array<Class, kWayClasses> classes_;
};

// What a sender does while the receiver has not decided: it takes both ways in turn. After many
// messages that came before their receive, and so have no times, it takes the way of the last
// decision, or else blocks for smaller ones, where two copies cost less than pages.
class WayTries {
 public:
  // Way of the next message. told: what the receiver has decided.
  Way next(std::size_t bytes, Way told);

 private:
  static constexpr int kMost = 32;
  static constexpr std::size_t kDirectBytes = 64 * 1024;

  struct Class {
    int tries = 0;
    Way last = Way::undecided;  // decision
  };
  std::array<Class, kWayClasses> classes_;
};

}  // namespace tabane::comm::shm
