#include "tabane/lab/commands/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/helper_process.h"
#include "tabane/core/system_files.h"
#include "tabane/core/units.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/commands/spawn.h"
#include "tabane/team/process_tree.h"

namespace tabane::lab {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kLookAgainSeconds = 0.25;
// For a command that is asked to end to take away what it has made.
constexpr double kGraceSeconds = 1;
constexpr std::size_t kMostErrorBytes = 8192;
constexpr int kEndsFirst = 1000;  // the kernel's highest badness
// Streams of the command.
constexpr std::size_t kStandardInput = 0, kStandardOutput = 1, kStandardError = 2;

double seconds_since(SteadyClock::time_point start) {
  return Seconds(SteadyClock::now() - start).count();
}

core::Descriptor open_file(const std::string& path, int flags) {
  core::Descriptor file(open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!file.valid()) throw core::SystemError("open", path, errno);
  return file;
}

// Ends all of some processes and takes their ends; they and what they leave are children of this
// process, which adopts orphans. kill_left() returns whether there was one left to kill. Returns
// whether there was any.
bool end_all(const auto& kill_left) {
  constexpr int kTries = 500;
  constexpr int kTryMs = 2;
  bool any = false;
  for (int i = 0; i < kTries && kill_left(); ++i) {
    any = true;
    poll(nullptr, 0, i == 0 ? 0 : kTryMs);
  }
  return any;
}

// Children of this process that are in another session: daemons, of which this process has none.
std::vector<pid_t> strays() {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream children(task.path() / "children");
    for (pid_t pid = 0; children >> pid;)
      if (getsid(pid) != getsid(0)) found.push_back(pid);
  }
  return found;
}

bool end_strays() {
  return end_all([] {
    siginfo_t any{};
    const bool none = waitid(P_ALL, 0, &any, WEXITED | WNOWAIT | WNOHANG) != 0;
    if (none) return false;  // usually: /proc need not be read
    const std::vector<pid_t> found = strays();
    for (const pid_t pid : found) {
      kill(pid, SIGKILL);
      int status = 0;
      waitpid(pid, &status, WNOHANG);
    }
    return !found.empty();
  });
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// What the system's counters of memory may be wrong by: those of this process, and of a small one.
constexpr double kCountersAreOffBy = 1 << 20, kSmallCountersAreOffBy = 1 << 18;

// Linux begins to count a command's peak at that of this process, which can be taken back to what
// it holds now. Returns that, with what its counters may be wrong by.
double forget_own_peak() {
  const core::Descriptor peak(open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  if (write(peak.get(), "5", 1) != 1) return 1024.0 * static_cast<double>(own.ru_maxrss);
  double all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<double>(core::page_bytes()) + kCountersAreOffBy;
}

// Bytes below which a command's peak is not known; measured anew once a second, because it costs as
// much as a very short command.
double own_peak() {
  thread_local double bytes = 0;
  thread_local SteadyClock::time_point found{};
  if (bytes == 0 || seconds_since(found) > 1) {
    bytes = forget_own_peak();
    found = SteadyClock::now();
  }
  return bytes;
}

// own_bytes: below which a peak is not known.
void add_usage(ChildRun& run, const rusage& usage, double own_bytes) {
  run.user_seconds += seconds_of(usage.ru_utime);
  run.system_seconds += seconds_of(usage.ru_stime);
  run.voluntary_switches += static_cast<double>(usage.ru_nvcsw);
  run.involuntary_switches += static_cast<double>(usage.ru_nivcsw);
  run.minor_faults += static_cast<double>(usage.ru_minflt);
  run.major_faults += static_cast<double>(usage.ru_majflt);
  const double peak = 1024.0 * static_cast<double>(usage.ru_maxrss);
  if (peak <= own_bytes) {
    run.peak_bytes.reset();
  } else if (run.peak_bytes) {
    *run.peak_bytes += peak;
  }
}

// A command that is about to start, or runs.
class Child {
 public:
  Child(const ChildCommand& command, const ChildLimits& limits)
      : command_(command),
        // Searched here, so that it is not timed.
        file_(program_file(command.arguments.at(0))),
        variables_(core::environment_with(command.environment)) {
    open_streams(limits);
  }
  // Ends what is left.
  ~Child() {
    if (pid_ > 0) end_group();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // throws: core::SystemError.
  void start(const ChildLimits& limits) {
    // Not found; execve() would look for it in the folder.
    if (file_.find('/') == std::string::npos) throw cannot_start(ENOENT);
    const std::vector<char*> arguments = core::pointers_to(command_.arguments);
    const std::vector<char*> variables = core::pointers_to(variables_);
    const pid_t started =
        spawn({.file = file_.c_str(),
               .arguments = arguments.data(),
               .variables = variables.data(),
               .streams = streams_,
               .folder = command_.folder.empty() ? nullptr : command_.folder.c_str(),
               .copied = limits.small_peaks});
    if (started < 0) throw cannot_start(errno);
    pid_ = started;
    running_ = true;
    end_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    if (!end_.valid()) throw core::SystemError("pidfd_open", command_.arguments[0], errno);
    if (limits.ends_first_without_memory)
      std::ofstream(fmt::format("/proc/{}/oom_score_adj", pid_)) << kEndsFirst;
  }

  bool running() const { return running_; }
  bool has_failed() const { return failed_; }  // as seen by look()
  // Where news of it come from.
  void listen(std::vector<pollfd>& to) const {
    if (!running_) return;
    to.push_back({.fd = end_.get(), .events = POLLIN, .revents = 0});
    for (const auto* pipe : {output_.get(), errors_.get()})
      if (pipe != nullptr)
        to.push_back({.fd = pipe->reading_end(), .events = POLLIN, .revents = 0});
  }

  // Reads what it has written, and sees whether it has ended.
  void look() {
    if (!running_) return;
    pollfd end{.fd = end_.get(), .events = POLLIN, .revents = 0};
    if (poll(&end, 1, 0) > 0) {
      running_ = false;
      siginfo_t how{};
      waitid(P_PID, static_cast<id_t>(pid_), &how, WEXITED | WNOWAIT);
      failed_ = how.si_code != CLD_EXITED || how.si_status != 0;
    }
    if (output_) output_->read_some();
    if (errors_) errors_->read_some();
  }

  void ask_to_end() const {
    if (running_) kill(-pid_, SIGTERM), kill(-pid_, SIGCONT);
  }

  // Takes its end, by force if it runs, ends what it has left behind, and adds what it took.
  void take_end(ChildRun& run, double own_bytes) {
    if (pid_ == 0) return;
    if (running_) kill(pid_, SIGKILL);
    int status = 0;
    rusage usage{};
    while (wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    running_ = false;
    add_usage(run, usage, own_bytes);
    if (run.exit_code == 0 && run.signal == 0) {
      if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
    }
    if (end_group() && !run.timed_out) run.left_processes = true;
  }

  void take_output(ChildRun& run, std::vector<std::string>& hashes) {
    if (output_) {
      output_->read_some();
      run.output += output_->kept().text();
      hashes.push_back(output_->kept().hash());
    }
    if (!errors_) return;
    errors_->read_some();
    run.errors += errors_->kept().text();
  }

 private:
  core::SystemError cannot_start(int code) const {
    return {"cannot start " + command_.arguments[0], "", code};
  }

  void open_streams(const ChildLimits& limits) {
    input_ = open_file(command_.input.empty() ? "/dev/null" : command_.input, O_RDONLY);
    streams_[kStandardInput] = input_.get();
    if (command_.output == OutputTo::terminal) return;
    errors_ = std::make_unique<PipeReader>(kMostErrorBytes, false);
    streams_[kStandardError] = errors_->writing_end();
    if (command_.output == OutputTo::kept) {
      output_ = std::make_unique<PipeReader>(limits.most_kept_bytes, limits.most_kept_bytes > 0);
      streams_[kStandardOutput] = output_->writing_end();
      return;
    }
    output_file_ = command_.output == OutputTo::file
                       ? open_file(command_.output_file, O_WRONLY | O_CREAT | O_TRUNC)
                       : open_file("/dev/null", O_WRONLY);
    streams_[kStandardOutput] = output_file_.get();
  }

  // Returns whether there was something to end besides the command itself.
  bool end_group() {
    const pid_t group = std::exchange(pid_, 0);
    return end_all([group] {
      int status = 0;
      while (waitpid(-group, &status, WNOHANG) > 0) {  // also what has ended by itself
      }
      return kill(-group, SIGKILL) == 0;
    });
  }

  const ChildCommand& command_;
  std::string file_;
  std::vector<std::string> variables_;
  std::array<int, 3> streams_ = {-1, -1, -1};  // of the command: descriptors of this process
  core::Descriptor input_, output_file_, end_;
  std::unique_ptr<PipeReader> output_, errors_;
  pid_t pid_ = 0;
  bool running_ = false, failed_ = false;
};

// Of the whole machine; -1 if the system does not report it.
double ended_for_memory() {
  const std::string all = core::SystemFiles().text("/proc/vmstat").value_or("");
  constexpr std::string_view kKey = "\noom_kill ";
  const std::size_t at = all.find(kKey);
  return at == std::string::npos ? -1 : std::atof(all.c_str() + at + kKey.size());
}

std::string joined_hash(const std::vector<std::string>& hashes) {
  if (hashes.size() == 1) return hashes.front();
  KeptText all(0, true);
  for (const std::string& hash : hashes) all.add(hash);
  return all.hash();
}

class RunningCommands {
 public:
  RunningCommands(std::span<const ChildCommand> commands, const ChildLimits& limits)
      : limits_(limits) {
    if (limits.ends_first_without_memory) ended_for_memory_ = ended_for_memory();
    for (const ChildCommand& command : commands)
      children_.push_back(std::make_unique<Child>(command, limits));
  }

  // Places go from this thread to what it starts.
  void start(std::span<const ChildCommand> commands) {
    if (limits_.counters != nullptr) limits_.counters->start();
    for (std::size_t i = 0; i < children_.size(); ++i) {
      std::optional<core::ScopedBinding> places;
      if (!commands[i].cpus.empty()) places.emplace(commands[i].cpus);
      std::optional<core::ScopedMemoryPolicy> memory;
      if (commands[i].memory) memory.emplace(*commands[i].memory);
      if (i == 0) start_ = SteadyClock::now();
      children_[i]->start(limits_);
    }
  }

  // Until all have ended. throws: Stopped.
  void wait() {
    double deadline = limits_.timeout_seconds;
    bool asked = false, stopped = false;
    while (running()) {
      wait_for_news(deadline - seconds_since(start_));
      const double now = seconds_since(start_);
      if (!run_.timed_out) run_.seconds = now;
      for (const auto& child : children_) {
        child->look();
        if (failed_ == nullptr && child->has_failed()) failed_ = child.get();
      }
      if (!running()) break;
      const bool too_long = now >= deadline;
      if (asked) {
        if (too_long) break;  // what is left is killed
        continue;
      }
      stopped = limits_.stop_requested();
      if (!too_long && !stopped && failed_ == nullptr) continue;
      run_.timed_out = too_long;
      asked = true;
      for (const auto& child : children_) child->ask_to_end();
      deadline = now + kGraceSeconds;
    }
    if (stopped) throw Stopped();
  }

  ChildRun finish() {
    run_.peak_bytes = 0;
    if (failed_ != nullptr) failed_->take_end(run_, own_bytes_);
    for (const auto& child : children_) child->take_end(run_, own_bytes_);
    if (end_strays() && !run_.timed_out) run_.left_processes = true;
    if (limits_.counters != nullptr) run_.counts = limits_.counters->stop();
    std::vector<std::string> hashes;
    for (const auto& child : children_) child->take_output(run_, hashes);
    if (!hashes.empty()) run_.output_hash = joined_hash(hashes);
    run_.memory_exhausted =
        !run_.ok() && limits_.ends_first_without_memory && ended_for_memory() > ended_for_memory_;
    return std::move(run_);
  }

 private:
  bool running() const {
    return std::ranges::any_of(children_, [](const auto& child) { return child->running(); });
  }

  void wait_for_news(double most_seconds) {
    std::vector<pollfd> news;
    for (const auto& child : children_) child->listen(news);
    const double seconds = std::clamp(most_seconds, 0.0, kLookAgainSeconds);
    const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(seconds * 1e9)};
    ppoll(news.data(), news.size(), &time, nullptr);
  }

  const ChildLimits& limits_;
  team::AdoptOrphans adopt_;
  std::vector<std::unique_ptr<Child>> children_;
  SteadyClock::time_point start_{};
  double ended_for_memory_ = 0;  // before
  double own_bytes_ = limits_.small_peaks ? bytes_of_copy() + kSmallCountersAreOffBy : own_peak();
  Child* failed_ = nullptr;  // the first
  ChildRun run_;
};

}  // namespace

std::string program_file(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  for (bool more = true; more;) {
    const std::size_t end = rest.find(':');
    more = end != std::string_view::npos;
    const std::string folder(rest.substr(0, end));
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    struct stat about {};
    if (stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
        access(file.c_str(), X_OK) == 0)
      return file;
    if (more) rest.remove_prefix(end + 1);
  }
  return name;
}

std::string how_it_ended(const ChildRun& run) {
  if (run.timed_out) return "not finished after " + core::format_seconds(run.seconds);
  std::string text = run.signal != 0
                         ? fmt::format("ended by signal {} ({})", run.signal, strsignal(run.signal))
                         : fmt::format("exit code {}", run.exit_code);
  if (run.memory_exhausted) text += ", while the system was out of memory";
  return text;
}

ChildRun run_children(std::span<const ChildCommand> commands, const ChildLimits& limits) {
  RunningCommands running(commands, limits);
  running.start(commands);
  running.wait();
  return running.finish();
}

ChildRun run_child(const ChildCommand& command, const ChildLimits& limits) {
  return run_children({&command, 1}, limits);
}

}  // namespace tabane::lab
