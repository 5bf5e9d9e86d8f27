// Bytes as text (RFC 4648, section 4).
#pragma once

#include <string>
#include <string_view>

namespace tabane::lab {

std::string to_base64(std::string_view bytes);
// Whether it is what to_base64() can return.
bool is_base64(std::string_view text);

}  // namespace tabane::lab
