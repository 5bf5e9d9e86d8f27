#include "bench/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <sstream>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/commands/spawn.h"

namespace tabane::bench {
namespace {

// Keeps what a command says for the case that it fails.
class Messages {
 public:
  Messages() : file_(memfd_create("messages", MFD_CLOEXEC)) {
    if (!file_.valid()) throw core::SystemError("memfd_create", "messages", errno);
  }

  int fd() const { return file_.get(); }
  std::string last_line() const {
    const off_t end = lseek(fd(), 0, SEEK_END);
    std::string text(static_cast<std::size_t>(std::clamp<off_t>(end, 0, 1000)), '\0');
    const auto begin = static_cast<std::uint64_t>(end) - text.size();
    text.resize(core::read_all_at(fd(), text.data(), text.size(), begin, "messages"));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

 private:
  core::Descriptor file_;
};

// Linux starts the peak of a spawned program at that of its parent, which the parent can take back
// to what it holds now.
void forget_own_peak() {
  const core::Descriptor file(open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
  [[maybe_unused]] const ssize_t refused = write(file.get(), "5", 1);
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

}  // namespace

Usage& Usage::operator+=(const Usage& other) {
  wall_seconds += other.wall_seconds;
  cpu_seconds += other.cpu_seconds;
  peak_resident_bytes = std::max(peak_resident_bytes, other.peak_resident_bytes);
  return *this;
}

Usage run_command(const Command& command) {
  const Messages messages;
  const core::Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  const std::string file = lab::program_file(command[0]);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  forget_own_peak();
  core::Clock& clock = core::tick_clock();
  const double start = clock.now();
  // Not by lab::run_child(): a mounted file system outlives the command that mounts it.
  const pid_t pid = lab::spawn({.file = file.c_str(),
                                .arguments = argv.data(),
                                .variables = environ,
                                .streams = {nothing.get(), nothing.get(), messages.fd()}});
  if (pid < 0) throw core::SystemError("start", command[0], errno);
  int status = 0;
  rusage used{};
  while (wait4(pid, &status, 0, &used) < 0)
    if (errno != EINTR) throw core::SystemError("wait4", command[0], errno);
  Usage usage;
  usage.wall_seconds = clock.now() - start;
  usage.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  usage.peak_resident_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw core::Error(started_as(command, "") + ": failed: " + messages.last_line());
  return usage;
}

bool in_path(const std::string& name) { return lab::program_file(name) != name; }

namespace {

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
  std::istringstream lines(
      lab::run_child({.arguments = shell(shell_command), .output = lab::OutputTo::kept}).output);
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
