// Names of files as text: they may hold any byte but '/' and zero.
#pragma once

#include <string>
#include <string_view>

namespace tabane::program {

// For a terminal: control characters, characters that change the direction of writing, and bytes
// that are not UTF-8 become \n, \t, \r or \xHH, and a backslash two, so that a name cannot move the
// cursor or pass for another line.
std::string printable(std::string_view bytes);

// The same, but backslashes stay: for text that is read, not matched with a name.
std::string without_controls(std::string_view bytes);

// Valid UTF-8: each byte that belongs to no character becomes U+FFFD.
std::string lossy_utf8(std::string_view bytes);

// All bytes, in ASCII: what is not a letter, a digit or one of -._~/ becomes %HH (RFC 3986).
std::string percent_encoded(std::string_view bytes);

}  // namespace tabane::program
