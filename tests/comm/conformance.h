// The suite that every transport must pass: tabane_conformance.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/core/error.h"

namespace tabane::conformance {

using comm::Comm;

// The same on all ranks.
struct Settings {
  bool quick = false;      // smaller and fewer messages
  std::uint64_t seed = 1;  // of the checks that draw numbers
};

// One property of the contract. Every rank calls `run`, which throws a sentence if it does not
// hold, and takes every message that it sends.
struct Check {
  std::string_view name;
  void (*run)(Comm& world, const Settings& settings);
};

// conformance_x.cc each.
std::span<const Check> message_checks();
std::span<const Check> request_checks();
std::span<const Check> view_checks();
std::span<const Check> group_checks();
std::span<const Check> collective_checks();
std::span<const Check> algorithm_checks();
std::span<const Check> traffic_checks();
std::span<const Check> mistake_checks();

template <class... Args>
void require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) throw core::Error(fmt::format(text, std::forward<Args>(args)...));
}

template <class T>
void require_equal(const T& seen, const T& wanted, std::string_view what) {
  require(seen == wanted, "{}: {} where {} was expected", what, seen, wanted);
}

// In bytes, around every border that a protocol may have.
std::vector<std::size_t> sizes_around_borders(const Settings& settings);

// Bytes that no other message has: key tells messages apart.
using Bytes = std::vector<std::byte>;
Bytes pattern(std::size_t size, std::uint64_t key);
constexpr std::uint64_t key_of(int from, int to, int number) {
  return (static_cast<std::uint64_t>(from) << 48) ^ (static_cast<std::uint64_t>(to) << 32) ^
         static_cast<std::uint64_t>(number);
}
// throws: core::Error naming the first byte that differs.
void require_pattern(std::span<const std::byte> bytes, std::size_t size, std::uint64_t key,
                     std::string_view what);

// The ranks that follow and precede, round the ring.
inline int next(const Comm& comm) { return (comm.rank() + 1) % comm.size(); }
inline int previous(const Comm& comm) { return (comm.rank() + comm.size() - 1) % comm.size(); }

}  // namespace tabane::conformance
