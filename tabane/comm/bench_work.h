// What ranks do together for the topic "comm": the same loops for tabane and for each MPI.
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/served.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::bench {

inline void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}

inline void wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Whose turn it is, for ranks that must not disturb the contender whose turn it is: all but rank 0
// sleep in the kernel until rank 0 has a request for them.
//
// In a file that all ranks of a contender map, of zeros at first.
class Turns {
 public:
  static constexpr std::size_t kFileBytes = 4096;

  // throws: core::SystemError.
  Turns(const std::string& path, int ranks) : ranks_(ranks) {
    const core::Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file.valid()) throw core::SystemError("open", path, errno);
    void* const memory =
        mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) throw core::SystemError("mmap", path, errno);
    shared_ = static_cast<Shared*>(memory);
  }
  ~Turns() { munmap(shared_, kFileBytes); }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // On rank 0: gives the others a request; waits asleep until all have done their part.
  void begin(std::string_view verb, std::uint64_t count) {
    if (verb.size() >= sizeof shared_->verb) throw core::Error("too long a request");
    std::memset(shared_->verb, 0, sizeof shared_->verb);
    std::memcpy(shared_->verb, verb.data(), verb.size());
    shared_->count = count;
    shared_->number.store(++number_);
    wake_all(shared_->number);
  }
  void wait_for_others() {
    for (std::uint32_t done; (done = shared_->done.load()) != all_done();) {
      sleep_while(shared_->done, done);
    }
  }

  struct Turn {
    std::string verb;  // empty: there will be no more
    std::uint64_t count = 0;
  };
  // On the others: sleeps until there is a request; says that this rank has done its part.
  Turn next() {
    while (shared_->number.load() == number_) sleep_while(shared_->number, number_);
    ++number_;  // rank 0 waits for all before the request after this one
    return {shared_->verb, shared_->count};
  }
  void done() {
    if (shared_->done.fetch_add(1) + 1 == all_done()) wake_all(shared_->done);
  }

  // Two lines for bare flags between ranks 0 and 1.
  std::atomic<std::uint64_t>& flag(int of_rank) { return shared_->flags[of_rank].value; }

 private:
  struct alignas(128) Flag {
    std::atomic<std::uint64_t> value;
  };
  struct Shared {
    std::atomic<std::uint32_t> number;  // of the request; futex
    std::atomic<std::uint32_t> done;    // by how many ranks, over all requests; futex
    std::uint64_t count;
    char verb[64];
    Flag flags[2];
  };
  static_assert(sizeof(Shared) <= kFileBytes);

  std::uint32_t all_done() const { return number_ * static_cast<std::uint32_t>(ranks_ - 1); }

  Shared* shared_ = nullptr;
  int ranks_;
  std::uint32_t number_ = 0;  // of requests that this rank has seen
};

inline void require(bool right, const char* what) {
  if (!right) throw core::Error(std::string("a wrong result: ") + what);
}

// Of the messages that go to and fro.
inline constexpr std::size_t kPingPongBytes[] = {8,         512,       4 * 1024,   16 * 1024,
                                                 32 * 1024, 64 * 1024, 256 * 1024, 2 * 1024 * 1024};

// What a rank does `count` times, by verb.
using RankWork = std::map<std::string, Served>;

// On all ranks but 0.
inline void work_when_asked(Turns& turns, const RankWork& work) {
  for (;;) {
    const Turns::Turn request = turns.next();
    if (request.verb.empty()) return;
    try {
      work.at(request.verb)(request.count);
    } catch (...) {
      turns.done();
      throw;
    }
    turns.done();
  }
}

// Works on request, all ranks together; rank 0's number is the answer. Returns the exit status.
inline int serve_ranks(Turns& turns, int rank, const RankWork& work) {
  if (rank != 0) {
    work_when_asked(turns, work);
    return 0;
  }
  std::map<std::string, Served> served;
  for (const auto& [verb, f] : work) {
    served[verb] = [&turns, verb = verb, f = f](std::uint64_t count) {
      turns.begin(verb, count);
      const std::uint64_t answer = f(count);
      turns.wait_for_others();
      return answer;
    };
  }
  const int status = serve(served);
  turns.begin("", 0);
  return status;
}

// Messages: rank(), size(), send(to, bytes), recv(from, bytes), barrier(), sum(double),
// broadcast(bytes, root), gather(part, all), scatter(all, part, root), all_gather(part, all),
// reduce_scatter(doubles, block), all_to_all(out, in), non_blocking_sum(double).
template <class Messages>
class CommWork {
 public:
  explicit CommWork(Messages& messages) : m_(messages) {
    for (const std::size_t bytes : kPingPongBytes) {
      for (const bool anew : {false, true}) {
        work_[(anew ? "ping-pong-anew-" : "ping-pong-") + std::to_string(bytes)] =
            repeated([=, this](std::uint64_t i) { ping_pong(bytes, anew, i); });
      }
    }
    work_["barrier"] = repeated([this] { m_.barrier(); });
    work_["sum"] = repeated([this] {
      require(m_.sum(m_.rank() + 1.0) == m_.size() * (m_.size() + 1) / 2.0, "all-reduce");
    });
    work_["non-blocking-sum"] = repeated([this] {
      require(m_.non_blocking_sum(m_.rank() + 1.0) == m_.size() * (m_.size() + 1) / 2.0,
              "non-blocking all-reduce");
    });
    for (const std::size_t bytes : {1024 * 1024, 8 * 1024 * 1024}) {
      work_["all-to-all-" + std::to_string(bytes)] =
          repeated([this, bytes](std::uint64_t i) { all_to_all(bytes, i); });
    }
    work_["broadcast"] = repeated([this](std::uint64_t i) { broadcast(i); });
    work_["scatter"] = repeated([this](std::uint64_t i) { scatter(i); });
    work_["all-gather"] = repeated([this](std::uint64_t i) { all_gather(i); });
    work_["reduce-scatter"] = repeated([this] { reduce_scatter(); });
    work_["gather"] =
        repeated([this] { gather([this](auto part, auto all) { m_.gather(part, all); }); });
  }

  const RankWork& work() const { return work_; }
  void add(const std::string& verb, Served served) { work_[verb] = std::move(served); }

  // Each in its turn i; what it writes differs from turn to turn.

  // By ranks 0 and 1. Both send from and receive into buffers of their own. anew: a sender first
  // writes what it sends; else each message is the same, and after a while in both caches.
  void ping_pong(std::size_t bytes, bool anew, std::uint64_t i) {
    if (m_.rank() > 1) return;
    out_.resize(bytes);
    in_.resize(bytes);
    const int peer = 1 - m_.rank();
    if (m_.rank() == 1) m_.recv(peer, in_);
    if (anew) std::memset(out_.data(), static_cast<int>(i), bytes);
    m_.send(peer, out_);
    if (m_.rank() == 0) m_.recv(peer, in_);
    if (anew) require(in_.back() == static_cast<std::byte>(i), "message");
  }

  // Of 4 KiB, each rank the root in turn: so none gets ahead of the others.
  void broadcast(std::uint64_t i) {
    out_.resize(4096);
    const int root = static_cast<int>(i % static_cast<std::uint64_t>(m_.size()));
    if (m_.rank() == root) out_.back() = static_cast<std::byte>(i);
    m_.broadcast(out_, root);
    require(out_.back() == static_cast<std::byte>(i), "broadcast");
  }

  // Of 64 KiB from each, to rank 0. gather: by which means.
  template <class Gather>
  void gather(Gather&& gather) {
    out_.resize(kPartBytes);
    out_.back() = static_cast<std::byte>(m_.rank());
    const std::size_t size = static_cast<std::size_t>(m_.size());
    if (m_.rank() == 0) in_.resize(kPartBytes * size);
    gather(std::span<const std::byte>(out_), std::span(in_));
    if (m_.rank() != 0) return;
    for (std::size_t i = 0; i < size; ++i) {
      require(in_[(i + 1) * kPartBytes - 1] == static_cast<std::byte>(i), "gather");
    }
  }

  // Of 64 KiB to each, each rank the root in turn.
  void scatter(std::uint64_t i) {
    const auto size = static_cast<std::size_t>(m_.size());
    const auto own = static_cast<std::size_t>(m_.rank());
    out_.resize(kPartBytes * size);
    in_.resize(kPartBytes);
    const int root = static_cast<int>(i % size);
    for (std::size_t rank = 0; m_.rank() == root && rank < size; ++rank) {
      out_[(rank + 1) * kPartBytes - 1] = static_cast<std::byte>(i + rank);
    }
    m_.scatter(out_, in_, root);
    require(in_.back() == static_cast<std::byte>(i + own), "scatter");
  }

  // Of 64 KiB from each.
  void all_gather(std::uint64_t i) {
    const auto size = static_cast<std::size_t>(m_.size());
    out_.resize(kPartBytes);
    in_.resize(kPartBytes * size);
    out_.back() = static_cast<std::byte>(i + static_cast<std::uint64_t>(m_.rank()));
    m_.all_gather(out_, in_);
    for (std::size_t rank = 0; rank < size; ++rank) {
      require(in_[(rank + 1) * kPartBytes - 1] == static_cast<std::byte>(i + rank), "all-gather");
    }
  }

  // So many bytes from each to each.
  void all_to_all(std::size_t bytes, std::uint64_t i) {
    const auto size = static_cast<std::size_t>(m_.size());
    const auto own = static_cast<std::size_t>(m_.rank());
    out_.resize(bytes * size);
    in_.resize(bytes * size);
    for (std::size_t rank = 0; rank < size; ++rank) {
      out_[(rank + 1) * bytes - 1] = static_cast<std::byte>(i + rank + 3 * own);
    }
    m_.all_to_all(out_, in_);
    for (std::size_t rank = 0; rank < size; ++rank) {
      require(in_[(rank + 1) * bytes - 1] == static_cast<std::byte>(i + own + 3 * rank),
              "all-to-all");
    }
  }

  // 64 KiB of sums for each.
  void reduce_scatter() {
    const std::size_t each = kPartBytes / sizeof(double);
    if (block_.empty()) values_.assign(each * static_cast<std::size_t>(m_.size()), m_.rank() + 1.0);
    block_.resize(each);
    m_.reduce_scatter(values_, block_);
    require(block_.back() == m_.size() * (m_.size() + 1) / 2.0, "reduce-scatter");
  }

 private:
  static constexpr std::size_t kPartBytes = 64 * 1024;

  Messages& m_;
  std::vector<std::byte> out_, in_;
  std::vector<double> values_, block_;
  RankWork work_;
};

}  // namespace tabane::bench
