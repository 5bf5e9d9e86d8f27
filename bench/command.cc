#include "bench/command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"

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

class FileActions {
 public:
  explicit FileActions(const Messages& messages) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, messages.fd(), 2);
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
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

std::string in_one_line(const Command& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  return line.size() <= 300 ? line : line.substr(0, 300) + " …";
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
  const FileActions actions(messages);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  forget_own_peak();
  core::Clock& clock = core::tick_clock();
  const double start = clock.now();
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], actions.get(), nullptr, argv.data(), environ);
  if (error != 0) throw core::SystemError("start", command[0], error);
  int status = 0;
  rusage used{};
  while (wait4(pid, &status, 0, &used) < 0) {
    if (errno != EINTR) throw core::SystemError("wait4", command[0], errno);
  }
  Usage usage;
  usage.wall_seconds = clock.now() - start;
  usage.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  usage.peak_resident_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw core::Error(in_one_line(command) + ": failed: " + messages.last_line());
  }
  return usage;
}

bool in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace tabane::bench
