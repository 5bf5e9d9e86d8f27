// For tests of what is refused.
#pragma once

#include <string>

#include "tabane/core/error.h"

namespace tabane::core {

// Returns what() of the E that f throws; empty if it throws nothing.
template <class E = Error, class F>
std::string text_of_error(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return {};
}

}  // namespace tabane::core
