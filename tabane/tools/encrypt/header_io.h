// Reads the headers of sealed files.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tabane::encrypt {

// The header at the beginning of an open sealed file, or less, where the file ends or is none.
// throws: core::SystemError naming `what`. cost: one read, two if there are many slots.
std::vector<std::byte> read_header(int file, std::string_view what);

}  // namespace tabane::encrypt
