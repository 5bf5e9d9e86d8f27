// UTF-8 read character by character.
#pragma once

#include <cstddef>
#include <string_view>

namespace tabane::program {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: the first byte belongs to no character
};

// The first character of a text that is not empty.
Character first_character(std::string_view text);

}  // namespace tabane::program
