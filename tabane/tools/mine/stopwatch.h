// What the steps of mining take.
#pragma once

#include <chrono>
#include <utility>

namespace tabane::mine {

class Stopwatch {
 public:
  // Seconds since it was made or asked last.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(begin_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace tabane::mine
