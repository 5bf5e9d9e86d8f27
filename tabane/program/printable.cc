#include <fmt/format.h>

#include "tabane/program/layout.h"

namespace tabane::program {
namespace {

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

std::string with_escapes(std::string_view bytes, std::string_view backslash) {
  std::string text;
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    const std::string_view here = bytes.substr(0, character.bytes == 0 ? 1 : character.bytes);
    if (character.bytes == 0 || can_mislead(character.code)) {
      text += escaped(here);
    } else {
      text += character.code == '\\' ? backslash : here;
    }
    bytes.remove_prefix(here.size());
  }
  return text;
}

}  // namespace

std::string printable(std::string_view bytes) { return with_escapes(bytes, "\\\\"); }

std::string without_controls(std::string_view bytes) { return with_escapes(bytes, "\\"); }

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

}  // namespace tabane::program
