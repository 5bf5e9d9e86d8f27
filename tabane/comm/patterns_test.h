// For tests of messages: bytes that no other message has, and sizes that matter to transports.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tabane/comm/runners_test.h"

namespace tabane::comm {

using Bytes = std::vector<std::byte>;

// Tells messages apart.
constexpr std::uint64_t key_of(int from, int to, int number) {
  return (static_cast<std::uint64_t>(from) << 48) ^ (static_cast<std::uint64_t>(to) << 32) ^
         static_cast<std::uint64_t>(number);
}

inline Bytes pattern(std::size_t size, std::uint64_t key) {
  Bytes bytes(size);
  // Mixed as by splitmix64.
  key = (key + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  std::uint64_t word = (key ^ (key >> 27)) * 0x94d049bb133111eb;
  for (std::size_t at = 0; at < size; at += sizeof word) {
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
    word += 0x9e3779b97f4a7c15;
  }
  return bytes;
}

// throws: core::Error naming the first byte that differs.
inline void require_pattern(std::span<const std::byte> bytes, std::size_t size, std::uint64_t key,
                            const std::source_location& at = std::source_location::current()) {
  require_equal(bytes.size(), size, at);
  const Bytes wanted = pattern(size, key);
  const auto wrong = std::ranges::mismatch(bytes, wanted).in1;
  if (wrong == bytes.end()) return;
  throw core::Error("line " + std::to_string(at.line()) + " of the test: byte " +
                    std::to_string(wrong - bytes.begin()) + " of " + std::to_string(size) +
                    " is wrong");
}

// In bytes, around every border that a protocol may have.
inline std::vector<std::size_t> sizes_around_borders(const Comm& world) {
  std::vector<std::size_t> sizes{0, 1, 2, 7, 8, 9};
  for (const std::size_t border : {16, 32, 48, 64, 128, 512, 4096}) {
    sizes.insert(sizes.end(), {border - 1, border, border + 1});
  }
  for (const std::size_t border : {8, 16, 64, 128, 256, 512, 1024}) {
    const std::size_t bytes = border * 1024;
    if (saves_time(world) && border != 64 && border != 256) continue;
    sizes.insert(sizes.end(), {bytes - 1, bytes, bytes + 1});
  }
  return sizes;
}

// The ranks that follow and precede, round the ring.
inline int next(const Comm& comm) { return (comm.rank() + 1) % comm.size(); }
inline int previous(const Comm& comm) { return (comm.rank() + comm.size() - 1) % comm.size(); }

// What the rank before sends to this one in call no. `number`, and what this one sends.
inline std::uint64_t key_in(const Comm& comm, int number) {
  return key_of(previous(comm), comm.rank(), number);
}
inline Bytes pattern_out(const Comm& comm, std::size_t size, int number) {
  return pattern(size, key_of(comm.rank(), next(comm), number));
}

// Rank 1 returns. The other one, which does not wait but looks again and again, has what it sent
// before, and is told.
inline void look_for_one_that_returns(Comm& comm) {
  if (comm.rank() == 1) return comm.send(0, 7, 1);
  std::vector<int> sent(1), missing(1);
  Request early = comm.irecv(1, sent, 1), late = comm.irecv(1, missing, 2);
  const auto told = [&](auto found) {
    const std::string loss = error_of<core::LostError>([&] {
      while (!found()) continue;
    });
    require_contains(loss, "rank 1 has returned");
  };
  told([&] { return late.test(); });
  require(early.test());
  require_equal(sent[0], 7);
  told([&] { return comm.probe(1, 3).has_value(); });
  error_of<core::LostError>([&] { comm.recv<int>(any_source, 3); });
}

}  // namespace tabane::comm
