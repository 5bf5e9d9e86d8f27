// How many tasks a worker takes at once: enough that taking them costs little, few enough that all
// workers end together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tabane::team {

class ChunkSize {
 public:
  explicit ChunkSize(std::size_t workers) : workers_(workers) {}

  std::size_t now() const { return size_; }

  // Adapts to the chunk just done. taken: > 0; left: tasks not yet handed out.
  // Aims at kAimNs a chunk; grows at most twofold, since a single time may be an accident; takes
  // never more than a quarter of a worker's even share of what is left.
  void adapt(std::uint64_t ns, std::size_t taken, std::size_t left) {
    const std::uint64_t task_ns = std::max<std::uint64_t>(1, ns / taken);
    const auto wanted = static_cast<std::size_t>(kAimNs / task_ns);
    const std::size_t fair = left / workers_ / 4;
    size_ = std::max<std::size_t>(1, std::min({wanted, 2 * size_, fair, kMost}));
  }

  static constexpr std::uint64_t kAimNs = 32'000;
  static constexpr std::size_t kMost = std::size_t{1} << 20;

 private:
  std::size_t workers_;
  std::size_t size_ = 1;
};

}  // namespace tabane::team
