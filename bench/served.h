// The inside of a program that works on request: see bench/remote.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace tabane::bench {

// Work done `count` times; its number goes to who asked.
using Served = std::function<std::uint64_t(std::uint64_t count)>;

// Says that it is ready and answers requests until nobody asks any more. Returns the exit status.
int serve(const std::map<std::string, Served>& work);

// One that does f() `count` times and has nothing to tell.
template <class F>
Served repeated(F f) {
  return [f](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) f();
    return std::uint64_t{0};
  };
}

}  // namespace tabane::bench
