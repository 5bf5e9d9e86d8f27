#include "tabane/comm/transport/shm/direct_copy.h"

#include <algorithm>
#include <cerrno>

namespace tabane::comm::shm {

namespace {

// Who takes a piece then looks for an error; who says that there is one then looks what is taken.
// So one of them sees the other, which takes sequential consistency of `taken` and `error`; and
// what comes last, `ended`, releases what was copied. All of it is next to system calls that cost
// hundreds of times as much, so no operation is weaker than it is by default. No test can see
// error.compare_exchange_strong, error.load, taken.fetch_add, taken.load, ended.fetch_add or
// ended.load weaker: on x86 read-modify-writes are fences in any order, and loads are the same
// instruction.
constexpr int kBackShift = 32;

std::uint64_t count_of(std::uint64_t taken) { return (taken & UINT32_MAX) + (taken >> kBackShift); }

bool work(DirectCopy& copy, bool from_front) {
  const std::size_t piece_bytes = piece_bytes_of(copy);
  const std::uint32_t pieces = pieces_of(copy);
  for (;;) {
    if (copy.error.load() != 0) return false;
    const std::uint64_t before =
        copy.taken.fetch_add(from_front ? 1 : std::uint64_t{1} << kBackShift);
    if (count_of(before) >= pieces) return copy.error.load() == 0;
    const std::uint64_t piece =
        from_front ? before & UINT32_MAX : pieces - 1 - (before >> kBackShift);
    const std::size_t begin = piece * piece_bytes;
    const std::size_t bytes = std::min(piece_bytes, copy.bytes - begin);
    auto* const source = const_cast<std::byte*>(copy.from) + begin;
    std::byte* const target = copy.to + begin;
    // Again: has_failed() may have counted the pieces before this one was taken.
    int error = copy.error.load() != 0 ? ECANCELED : 0;
    if (error == 0) {
      error = from_front ? copy_all(process_vm_readv, copy.sender, target, source, bytes)
                         : copy_all(process_vm_writev, copy.receiver, source, target, bytes);
    }
    std::uint32_t none = 0;
    if (error != 0) copy.error.compare_exchange_strong(none, static_cast<std::uint32_t>(error));
    copy.ended.fetch_add(1);
  }
}

}  // namespace

int copy_all(VmCall call, pid_t pid, std::byte* here, std::byte* there, std::size_t bytes) {
  while (bytes > 0) {
    const iovec local{here, bytes}, remote{there, bytes};
    const ssize_t copied = call(pid, &local, 1, &remote, 1, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) return copied < 0 ? errno : EFAULT;
    here += copied;
    there += copied;
    bytes -= static_cast<std::size_t>(copied);
  }
  return 0;
}

bool can_copy_directly(pid_t pid, const void* address) {
  std::byte bytes[8];
  auto* const there = static_cast<std::byte*>(const_cast<void*>(address));
  return copy_all(process_vm_readv, pid, bytes, there, sizeof(bytes)) == 0;
}

// Nobody works on it yet: the others are relaxed, and open tells that they, and the fields, are
// there.
void begin(DirectCopy& copy) {
  copy.error.store(0, std::memory_order_relaxed);
  copy.taken.store(0, std::memory_order_relaxed);
  copy.ended.store(0, std::memory_order_relaxed);
  copy.open.store(1, std::memory_order_release);
}

std::size_t piece_bytes_of(const DirectCopy& copy) {
  return std::clamp(copy.bytes / 4 / 4096 * 4096, kLeastPieceBytes, kMostPieceBytes);
}

std::uint32_t pieces_of(const DirectCopy& copy) {
  const std::size_t piece_bytes = piece_bytes_of(copy);
  return static_cast<std::uint32_t>((copy.bytes + piece_bytes - 1) / piece_bytes);
}

bool is_done(const DirectCopy& copy) {
  return copy.ended.load() == pieces_of(copy) && copy.error.load() == 0;
}

bool has_failed(const DirectCopy& copy) {
  if (copy.error.load() == 0) return false;
  const std::uint64_t taken = std::min<std::uint64_t>(count_of(copy.taken.load()), pieces_of(copy));
  return copy.ended.load() == taken;
}

void withdraw(DirectCopy& copy) {
  std::uint32_t none = 0;
  copy.error.compare_exchange_strong(none, ECANCELED);
}

bool work_as_receiver(DirectCopy& copy) { return work(copy, true); }
bool work_as_sender(DirectCopy& copy) { return work(copy, false); }

bool copy_alone(DirectCopy& copy) {
  const std::uint32_t pieces = pieces_of(copy);
  copy.taken.store(pieces);
  // From here on a side that withdraws the copy waits for its end; before, it may have withdrawn
  // it.
  if (copy.error.load() == 0) {
    const int error = copy_all(process_vm_readv, copy.sender, copy.to,
                               const_cast<std::byte*>(copy.from), copy.bytes);
    std::uint32_t none = 0;
    if (error != 0) copy.error.compare_exchange_strong(none, static_cast<std::uint32_t>(error));
  }
  copy.ended.store(pieces, std::memory_order_release);  // with the loads in is_done(), has_failed()
  return copy.error.load() == 0;
}

double WayTimes::Times::median() const {
  auto sorted = per_byte;
  std::ranges::sort(sorted);
  return sorted[kSamples / 2];
}

bool WayTimes::begins_anew(std::size_t bytes) {
  int& rest = classes_[index(bytes)].rest;
  return bytes <= kMostTriedBytes && rest > 0 && --rest == 0;
}

Way WayTimes::note(std::size_t bytes, Way way, double ns) {
  Class& of_size = classes_[index(bytes)];
  Times& times = way == Way::blocks ? of_size.blocks : of_size.direct;
  if (times.count < kSamples) times.per_byte[times.count++] = ns / static_cast<double>(bytes);
  if (std::min(of_size.blocks.count, of_size.direct.count) < kSamples) return Way::undecided;
  const double most = kMostOfBlocks * of_size.blocks.median();
  const Way faster = of_size.direct.median() < most ? Way::direct : Way::blocks;
  of_size.blocks.count = of_size.direct.count = 0;
  of_size.rest = of_size.next_rest;
  of_size.next_rest = std::min(2 * of_size.next_rest, kMostRest);
  return faster;
}

Way WayTries::next(std::size_t bytes, Way told) {
  Class& of_size = classes_[static_cast<std::size_t>(way_class(bytes))];
  if (told != Way::undecided) {
    of_size = {.tries = 0, .last = told};
    return told;
  }
  if (of_size.tries == kMost) {
    if (of_size.last != Way::undecided) return of_size.last;
    return bytes > kDirectBytes ? Way::direct : Way::blocks;
  }
  return ++of_size.tries % 2 != 0 ? Way::blocks : Way::direct;
}

}  // namespace tabane::comm::shm
