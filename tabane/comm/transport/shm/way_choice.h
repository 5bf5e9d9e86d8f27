// Which way the large messages of a pair take: through blocks, which is two copies, or directly,
// which is one that the kernel makes after it has found and pinned each page. Which is faster
// depends on the caches that the two PUs share, and on whether the machine is a virtual one, where
// pages cost more: for 64 KiB it has been 2.8 and 7.4 us, or 9 and 7.5 us, on the same machine. So
// the first messages of each size go both ways in turn, and the receiver, who sees how long they
// take, decides by the median of several: the best would favour a way that is only sometimes fast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tabane::comm::shm {

enum class Way : std::uint8_t { undecided, blocks, direct };

// Messages of up to 32, 128 and 512 KiB. Of larger ones direct copies are always faster.
inline constexpr int kWayClasses = 3;
inline constexpr std::size_t kMostTriedBytes = 512 * 1024;
inline int way_class(std::size_t bytes) {
  return bytes <= 32 * 1024 ? 0 : bytes <= 128 * 1024 ? 1 : 2;
}

// What a receiver has seen of one sender's messages.
class WayTimes {
 public:
  // Whether times of such messages are still of use.
  bool wants(std::size_t bytes) const {
    return bytes <= kMostTriedBytes && !classes_[index(bytes)].decided;
  }
  // A message took `ns` that way, not undecided. Returns the way that is faster when this is known
  // for its class, else undecided.
  Way note(std::size_t bytes, Way way, double ns);

 private:
  static constexpr std::size_t kSamples = 5;
  struct Times {
    std::size_t count = 0;
    std::array<double, kSamples> per_byte{};
    double median() const;
  };
  struct Class {
    Times blocks, direct;
    bool decided = false;
  };
  static std::size_t index(std::size_t bytes) { return static_cast<std::size_t>(way_class(bytes)); }

  std::array<Class, kWayClasses> classes_;
};

// What a sender does while the receiver has not decided: it takes both ways in turn, but after many
// messages for which the receiver was late, so that their times told nothing, blocks for smaller
// ones, where two copies cost less than pages.
class WayTries {
 public:
  // Way of the next message.
  Way next(std::size_t bytes);

 private:
  static constexpr int kMost = 32;
  static constexpr std::size_t kDirectBytes = 64 * 1024;

  std::array<int, kWayClasses> tries_{};
};

}  // namespace tabane::comm::shm
