#include "tabane/core/system_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/file.h"

namespace tabane::core {
namespace {

constexpr const char* kSpace = " \t\n\r";

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

std::optional<double> leading_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  return value;
}

std::optional<std::string> SystemFiles::text(const std::string& path) const {
  std::ifstream file(root_ + path);
  std::ostringstream content;
  // Some files of /sys open and then refuse to be read: the stream stays empty.
  if (!file || !(content << file.rdbuf())) return std::nullopt;
  std::string all = trimmed(content.str());
  if (all.empty()) return std::nullopt;
  return all;
}

std::optional<double> SystemFiles::number(const std::string& path) const {
  const auto all = text(path);
  return all ? leading_number(*all) : std::nullopt;
}

std::optional<std::string> SystemFiles::field(const std::string& path,
                                              const std::string& key) const {
  std::ifstream file(root_ + path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0 || line.size() == key.size()) continue;
    const auto next = line.find_first_not_of(kSpace, key.size());
    if (next == std::string::npos) continue;
    if (line[next] == ':') return trimmed(line.substr(next + 1));
    if (next > key.size()) return trimmed(line.substr(next));
  }
  return std::nullopt;
}

std::optional<double> SystemFiles::field_number(const std::string& path,
                                                const std::string& key) const {
  const auto value = field(path, key);
  if (!value) return std::nullopt;
  auto number = leading_number(*value);
  if (number && value->size() > 3 && value->ends_with(" kB")) *number *= 1024;
  return number;
}

std::optional<std::string> SystemFiles::choice(const std::string& path) const {
  auto all = text(path);
  if (!all) return std::nullopt;
  const auto open = all->find('[');
  const auto close = all->find(']', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return all;
  return all->substr(open + 1, close - open - 1);
}

std::vector<std::string> SystemFiles::names(const std::string& directory) const {
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator entry(root_ + directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    found.push_back(entry->path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

bool SystemFiles::exists(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(root_ + path, error);
}

std::string host_name() {
  char name[256] = {};
  // The last byte stays 0 when the name is cut.
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unnamed";
}

std::string machine_name() {
  try {
    return core::read_file("/proc/sys/kernel/random/boot_id");
  } catch (const core::SystemError&) {
    return host_name();
  }
}

}  // namespace tabane::core
