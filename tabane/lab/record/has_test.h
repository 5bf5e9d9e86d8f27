// For tests of texts.
#pragma once

#include <string>

namespace tabane::lab {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tabane::lab
