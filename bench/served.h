// The inside of a program that works on request: see bench/remote.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace tabane::bench {

// Does work `count` times and returns a number for the reply.
using Served = std::function<std::uint64_t(std::uint64_t count)>;

// Reports that it is ready and answers requests until the input ends. Returns the exit status.
int serve(const std::map<std::string, Served>& work);

// Returns what scene(words) returns, or 2 after a sentence on stderr if it throws. words: what
// main() got, without the program.
int serve_scene(int argc, char** argv, int (*scene)(const std::vector<std::string>& words));

// Calls f() or f(i), i from 0 on, `count` times and returns 0.
template <class F>
Served repeated(F f) {
  return [f](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if constexpr (std::is_invocable_v<F, std::uint64_t>) {
        f(i);
      } else {
        f();
      }
    }
    return std::uint64_t{0};
  };
}

}  // namespace tabane::bench
