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

// Returns the errno of the SystemError that f throws; 0 if it throws nothing.
template <class F>
int code_of(F&& f) {
  try {
    f();
  } catch (const SystemError& error) {
    return error.code();
  }
  return 0;
}

}  // namespace tabane::core
