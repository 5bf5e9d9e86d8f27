#include "tabane/lab/commands/allocator.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tabane/core/error.h"

namespace tabane::program {
namespace {

struct Allocator {
  const char* name;
  const char* package;
  std::vector<const char*> files;
};

const std::vector<Allocator>& allocators() {
  static const std::vector<Allocator> known = {
      {"jemalloc", "libjemalloc2", {"libjemalloc.so.2", "libjemalloc.so"}},
      {"mimalloc", "libmimalloc2.0", {"libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so"}},
      {"tcmalloc", "libtcmalloc-minimal4", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4"}}};
  return known;
}

// Class, byte order and instruction set of an ELF file; a library of another kind cannot be
// preloaded.
std::optional<std::array<char, 4>> elf_kind(const std::string& path) {
  std::array<char, 20> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(head.data(), head.size()) || std::string(head.data(), 4) != "\177ELF") return {};
  return std::array<char, 4>{head[4], head[5], head[18], head[19]};
}

void read_directories(const std::filesystem::path& file, std::vector<std::string>& directories) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('/'))
      directories.push_back(line.substr(0, line.find_last_not_of(" \t") + 1));
  }
}

// Adds item to a list that the program reads, unless the list already decides about key.
Assignment extend(const std::string& name, const std::string& key, const std::string& item,
                  char separator, const Lookup& environment) {
  const auto old = environment(name);
  if (!old || old->empty()) return {.name = name, .value = item};
  if (old->find(key) != std::string::npos) return {.name = name, .value = *old, .kept = true};
  return {.name = name, .value = *old + separator + item};
}

}  // namespace

std::vector<std::string> library_directories(const Lookup& environment) {
  std::vector<std::string> directories;
  std::istringstream own(environment("LD_LIBRARY_PATH").value_or(""));
  for (std::string directory; std::getline(own, directory, ':');) {
    if (!directory.empty()) directories.push_back(directory);
  }
  std::error_code ignored;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("/etc/ld.so.conf.d", ignored)) {
    if (entry.path().extension() == ".conf") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) read_directories(file, directories);
  for (const char* usual :
       {"/usr/local/lib64", "/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib"}) {
    directories.push_back(usual);
  }
  return directories;
}

std::string find_allocator(const std::string& name, const std::vector<std::string>& directories) {
  if (name == "glibc") return "";
  for (const Allocator& allocator : allocators()) {
    if (name != allocator.name) continue;
    const auto own = elf_kind("/proc/self/exe");
    for (const std::string& directory : directories) {
      for (const char* file : allocator.files) {
        const std::string path = directory + "/" + file;
        const auto kind = elf_kind(path);
        if (kind && (!own || kind == own)) return path;
      }
    }
    throw core::UsageError("--malloc " + name + ": " + allocator.files.front() +
                           " is not installed: apt-get install " + allocator.package);
  }
  throw core::UsageError("--malloc " + name + ": use glibc, jemalloc, mimalloc or tcmalloc");
}

std::optional<Assignment> huge_page_switch(const std::string& name, const Lookup& environment) {
  if (name.empty() || name == "glibc") {
    const std::string key = "glibc.malloc.hugetlb";
    return extend("GLIBC_TUNABLES", key, key + "=1", ':', environment);
  }
  if (name == "jemalloc") return extend("MALLOC_CONF", "thp:", "thp:always", ',', environment);
  if (name == "mimalloc") {
    const std::string variable = "MIMALLOC_LARGE_OS_PAGES";
    if (const auto old = environment(variable)) return Assignment{variable, *old, true};
    return Assignment{variable, "1", false};
  }
  return std::nullopt;
}

}  // namespace tabane::program
