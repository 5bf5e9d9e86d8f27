// The root of a sealed tree: the SHA-256 of its manifest as it lies there.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace tabane::encrypt {

using Root = std::array<std::byte, 32>;

std::string text_of_root(const Root& root);  // 64 hexadecimal digits
// throws: core::UsageError.
Root root_of(const std::string& text);

}  // namespace tabane::encrypt
