#include "tabane/cli/printable.h"

#include <fmt/format.h>

namespace tabane::cli {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: the first byte belongs to no character
};

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  const bool overlong = code < (bytes == 4 ? 0x10000U : bytes == 3 ? 0x800U : 0x80U);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) return {};
  return {code, bytes};
}

bool within(char32_t code, char32_t first, char32_t last) { return code >= first && code <= last; }

// Control characters, marks of direction, and separators of lines and paragraphs.
bool can_mislead(char32_t code) {
  return code < 0x20 || within(code, 0x7F, 0x9F) || code == 0x61C || within(code, 0x200E, 0x200F) ||
         within(code, 0x2028, 0x202E) || within(code, 0x2066, 0x2069);
}

std::string escaped(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\t") return "\\t";
  if (bytes == "\r") return "\\r";
  std::string text;
  for (const char byte : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    const std::string_view here = bytes.substr(0, character.bytes == 0 ? 1 : character.bytes);
    if (character.bytes == 0 || can_mislead(character.code)) {
      text += escaped(here);
    } else {
      if (character.code == '\\') text += '\\';
      text += here;
    }
    bytes.remove_prefix(here.size());
  }
  return text;
}

std::string lossy_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    const std::size_t size = character.bytes == 0 ? 1 : character.bytes;
    text += character.bytes == 0 ? std::string_view("\uFFFD") : bytes.substr(0, size);
    bytes.remove_prefix(size);
  }
  return text;
}

std::string percent_encoded(std::string_view bytes) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string text;
  for (const char byte : bytes) {
    if (kPlain.find(byte) != std::string_view::npos) {
      text += byte;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return text;
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ' ';
    text += digits[i];
  }
  return text;
}

}  // namespace tabane::cli
