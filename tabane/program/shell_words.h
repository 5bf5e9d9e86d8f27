// Words as a shell must be given them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tabane::program {

// The words joined so that a shell reads them as they are.
std::string shell_line(const std::vector<std::string>& words);
std::string shell_word(std::string_view word);

}  // namespace tabane::program
