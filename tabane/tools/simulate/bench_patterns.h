// Traffic that both tabane and SimGrid simulate, on the same machine.
#pragma once

#include <cstddef>
#include <string>

namespace tabane::simulate {

// A time in seconds, linear in the bytes of a message.
struct Linear {
  double setup, byte;
  double at(std::size_t bytes) const { return setup + byte * static_cast<double>(bytes); }
};
// About as on the AP1000: from the call of send until the message is there; of the sender; of the
// receiver.
inline constexpr Linear kWire{10e-6, 0.05e-6}, kSend{9e-6, 0.067e-6}, kReceive{9e-6, 0.13e-6};

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual void send(int to, std::size_t bytes) = 0;
  virtual void recv(int from, std::size_t bytes) = 0;
};

// pattern: "ring", ten times around; "transpose"; "broadcast" by a tree.
inline void run_pattern(const std::string& pattern, Endpoint& self, int rank, int ranks,
                        std::size_t bytes) {
  if (pattern == "ring") {
    for (int i = 0; i < 10 * ranks; ++i) {
      self.send((rank + 1) % ranks, bytes);
      self.recv((rank + ranks - 1) % ranks, bytes);
    }
  } else if (pattern == "transpose") {
    for (int i = 1; i < ranks; ++i) self.send((rank + i) % ranks, bytes);
    for (int i = 1; i < ranks; ++i) self.recv((rank + ranks - i) % ranks, bytes);
  } else {
    int bit = 1;
    while (bit < ranks && (rank & bit) == 0) bit *= 2;
    if (rank > 0) self.recv(rank - bit, bytes);
    for (bit /= 2; bit > 0; bit /= 2) {
      if (rank + bit < ranks) self.send(rank + bit, bytes);
    }
  }
}

}  // namespace tabane::simulate
