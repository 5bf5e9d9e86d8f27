// Plain tables for a terminal or a file.
#pragma once

#include <string>
#include <vector>

#include "tabane/lab/record.h"

namespace tabane::cli {

// Lays rows out in aligned columns, two blanks between them; the first row is the head. Columns
// whose cells below the head all begin with a digit, a sign or "–" are aligned to the right.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

// One line of a survey: name, value, interval, share of the limit.
std::string result_line(const lab::Result& result);

}  // namespace tabane::cli
