#include "tabane/tools/encrypt/root.h"

#include <string_view>

#include "tabane/core/error.h"
#include "tabane/crypto/sha256.h"

namespace tabane::encrypt {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string text_of_root(const Root& root) { return crypto::hexadecimal(root); }

Root root_of(const std::string& text) {
  Root root;
  const bool right_size = text.size() == 2 * root.size();
  if (!right_size || text.find_first_not_of(kDigits) != text.npos) {
    throw core::UsageError("--root: a root is 64 hexadecimal digits in lower case");
  }
  for (std::size_t i = 0; i < root.size(); ++i) {
    root[i] =
        static_cast<std::byte>(kDigits.find(text[2 * i]) << 4 | kDigits.find(text[2 * i + 1]));
  }
  return root;
}

}  // namespace tabane::encrypt
