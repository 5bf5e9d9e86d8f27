// A tree on its way from rank 0 to all others, so that all have one and the same.
#pragma once

#include <array>
#include <cstdint>

#include "tabane/comm/comm.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

// The number of its directories, files, links, and bytes of names.
std::array<std::uint64_t, 4> sizes_of(const Tree& tree);

// Called by all ranks at once. throw: core::LostError.
void send_tree(const Tree& tree, comm::Comm& ranks);
Tree receive_tree(const std::array<std::uint64_t, 4>& sizes, comm::Comm& ranks);

}  // namespace tabane::encrypt
