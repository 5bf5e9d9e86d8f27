// Memory allocators that can be put under a program without building it anew.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tabane::program {

// Value of an environment variable; null: not set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

struct Assignment {
  std::string name;
  std::string value;
  bool kept = false;  // the user had set it: value is the user's and stays
};

// The directories that the dynamic linker searches, most preferred first.
std::vector<std::string> library_directories(const Lookup& environment);

// Returns the path of the library of jemalloc, mimalloc or tcmalloc; empty for glibc.
// throws: UsageError with the legal names, or with the Debian package to install.
std::string find_allocator(const std::string& name, const std::vector<std::string>& directories);

// What to set so that the allocator ("" means glibc) asks for transparent huge pages, added to what
// the user has set. Null: it has no such switch.
std::optional<Assignment> huge_page_switch(const std::string& name, const Lookup& environment);

}  // namespace tabane::program
