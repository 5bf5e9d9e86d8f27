#include "bench/peer_version.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <sstream>

namespace tabane::bench {
namespace {

std::string output_of(const std::string& shell_command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      popen((shell_command + " 2>/dev/null").c_str(), "r"), pclose);
  std::string text(4096, '\0');
  text.resize(pipe ? std::fread(text.data(), 1, text.size(), pipe.get()) : 0);
  return text;
}

// Words with one blank between them.
std::string tidy(const std::string& line) {
  std::istringstream words(line);
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace

std::string version_said_by(const std::string& shell_command) {
  static std::map<std::string, std::string> known;
  if (const auto found = known.find(shell_command); found != known.end()) return found->second;
  std::istringstream lines(output_of(shell_command));
  std::string version;
  for (std::string line; version.empty() && std::getline(lines, line);)
    if (line.find_first_of("0123456789") != std::string::npos) version = tidy(line);
  return known[shell_command] = version;
}

std::string started_as(const Command& command, const std::string& version) {
  constexpr std::size_t kReadable = 240;
  std::string line = fmt::format("{}", fmt::join(command, " "));
  if (line.size() > kReadable) line = line.substr(0, kReadable) + " …";
  return version.empty() ? line : line + "; " + version;
}

std::string compiler_version() {
#ifdef __clang__
  return __VERSION__;
#else
  return std::string("GCC ") + __VERSION__;
#endif
}

}  // namespace tabane::bench
