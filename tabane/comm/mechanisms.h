// What a program is given beside plain messages: to see what each mechanism is worth to it, it runs
// with none of them, and then with one more each time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tabane::comm {

// Each has those before it, too. What is missing is made of messages between two ranks.
enum class Mechanisms : std::uint8_t {
  messages,   // broadcast and reduction by trees, gather by polling one rank after the other
  broadcast,  // the broadcast that the rules choose
  global,     // reductions, too
  all,        // scatter, gather, barrier, too
};
inline constexpr std::array<std::string_view, 4> kMechanismNames{"messages", "+broadcast",
                                                                 "+global", "all"};
constexpr std::string_view name_of(Mechanisms mechanisms) {
  return kMechanismNames[static_cast<std::size_t>(mechanisms)];
}
// throws: core::UsageError naming the legal ones.
Mechanisms mechanisms_named(std::string_view name);

// The rules that make collectives so, for LaunchOptions::choice_rules; empty for `all`.
std::string rules_of(Mechanisms mechanisms);

}  // namespace tabane::comm
