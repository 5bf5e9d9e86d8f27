// Text for a terminal: UTF-8 read character by character, widths in columns, wrapped paragraphs,
// tables of a given width; and names of files as text (printable.cc), which may hold any byte but
// '/' and zero.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tabane::program {

// A width that nothing exceeds: --wide.
inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

// The least that is laid out for.
inline constexpr std::size_t kNarrowestTerminal = 20;

// Returns the columns of the terminal behind a descriptor, 80 if it does not say; nullopt if there
// is no terminal. Asks at each call, because the user may have changed the window's size.
std::optional<std::size_t> terminal_width(int descriptor);

// Returns the width for results: the terminal's; 100 where the output is a file or a pipe (the same
// everywhere, so that files can be compared), or COLUMNS if that is set; kNoLimit for --wide.
std::size_t layout_width(int descriptor, bool wide = false);

// Returns the columns that a line of UTF-8 takes: two for a wide East Asian character, none for a
// combining mark, one for a byte that belongs to no character.
std::size_t display_width(std::string_view line);

// Returns the line, or if it is wider than `width` its beginning and "…".
std::string cut_to_width(std::string_view line, std::size_t width);

// Breaks text at blanks, and longer words anywhere, into lines of at most `width` columns, all but
// the first indented. Line ends of the text stay; a run of blanks becomes one; a no-break space is
// part of its word. There is no line end after the last line.
std::string wrap_text(std::string_view text, std::size_t width, std::size_t indent = 0);

// Lays rows out in aligned columns, two blanks between them; the first row is the head. Columns
// whose cells below the head all begin with a digit, a sign or "–" are aligned to the right.
// A table wider than `width` becomes narrower by the first of these that is enough: cells of
// several words wrap; these columns move below their row, each cell after its column's head;
// columns that do not fit follow in another table, which repeats the first columns, by which rows
// differ.
std::string fit_table(const std::vector<std::vector<std::string>>& rows, std::size_t width);

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: the first byte belongs to no character
};

// The first character of a text that is not empty.
Character first_character(std::string_view text);

// ---- names of files ----

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
