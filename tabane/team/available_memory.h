// How much memory this process can still take.
#pragma once

#include <cstdint>
#include <optional>

namespace tabane::team {

// Bytes that can be taken without swapping or being killed: what the machine has available, or what
// the limits of its control groups (version 2) leave of it. Null if the system does not tell.
// cost: some 50 us.
std::optional<std::uint64_t> available_memory();

}  // namespace tabane::team
