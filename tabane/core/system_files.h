// The small text files in which the system describes itself, below a prefix for tests, and the name
// of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tabane::core {

// The files of /proc and /sys. What is missing or may not be read is null, never an error.
class SystemFiles {
 public:
  // root: put before every path; empty for this machine.
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}

  // The whole file without surrounding white space. An empty file gives null.
  std::optional<std::string> text(const std::string& path) const;
  // The whole file as one number.
  std::optional<double> number(const std::string& path) const;
  // What follows `key` and an optional colon in the first line that starts with it: "MemTotal".
  std::optional<std::string> field(const std::string& path, const std::string& key) const;
  // The field's leading number times 1024 if "kB" follows it.
  std::optional<double> field_number(const std::string& path, const std::string& key) const;
  // The choice in brackets of "always [madvise] never"; the whole text without brackets.
  std::optional<std::string> choice(const std::string& path) const;
  // Names in a directory, sorted; empty if it cannot be read.
  std::vector<std::string> names(const std::string& directory) const;
  bool exists(const std::string& path) const;

 private:
  std::string root_;
};

std::optional<double> leading_number(const std::string& text);

std::string host_name();

// The same in all containers of a machine, where host names differ.
std::string machine_name();

}  // namespace tabane::core
