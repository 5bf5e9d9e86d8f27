// Reading and writing pieces of memory that stand apart, with one system call where the kernel
// takes it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tabane::encrypt {

// Fills the places one after the other until they are full or the file ends; returns what was read.
// throws: core::SystemError naming `what`.
std::size_t read_all_into(int fd, std::span<const iovec> places, std::uint64_t offset,
                          std::string_view what);

// throw: core::SystemError naming `what`. To a stream: where it stands.
void write_all_to_stream(int fd, std::span<const iovec> places, std::string_view what);
void write_all_from(int fd, std::span<const iovec> places, std::uint64_t offset,
                    std::string_view what);

}  // namespace tabane::encrypt
