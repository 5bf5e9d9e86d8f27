// Whose turn it is, for ranks that must not disturb the competitor whose turn it is: all but rank 0
// sleep in the kernel until rank 0 has a request for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tabane::bench {

// In a file that all ranks of a competitor map, of zeros at first.
class Turns {
 public:
  static constexpr std::size_t kFileBytes = 4096;

  // throws: core::SystemError.
  Turns(const std::string& path, int ranks);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // On rank 0: gives the others a request; waits asleep until all have done their part.
  void begin(std::string_view verb, std::uint64_t count);
  void wait_for_others();

  struct Request {
    std::string verb;  // empty: there will be no more
    std::uint64_t count = 0;
  };
  // On the others: sleeps until there is a request; says that this rank has done its part.
  Request next();
  void done();

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

  Shared* shared_ = nullptr;
  int ranks_;
  std::uint32_t number_ = 0;  // of requests that this rank has seen
};

}  // namespace tabane::bench
