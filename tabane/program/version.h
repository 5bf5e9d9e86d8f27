// What `tabane --version` says.
#pragma once

#include <string>

namespace tabane::program {

// Version, compiler, build type and the libraries that the program was built with: several lines.
std::string version_text();

}  // namespace tabane::program
