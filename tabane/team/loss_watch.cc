#include "tabane/team/loss_watch.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <string>
#include <string_view>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/team/proc.h"

namespace tabane::team {
namespace {

constexpr std::uint64_t kMs = 1'000'000;  // in ns
constexpr std::uint64_t kUsualPauseNs = 20 * kMs;
constexpr std::uint64_t kPauseOfLook = 20;  // a pause is so many times what the look before it took

Loss loss_of(pid_t pid, int status) {
  const bool by_signal = WIFSIGNALED(status);
  return {-1, pid, by_signal, by_signal ? WTERMSIG(status) : WEXITSTATUS(status)};
}

// Empty if there is none, or none can be read.
std::string stat_of(pid_t pid) {
  try {
    return core::read_file("/proc/" + std::to_string(pid) + "/stat");
  } catch (const core::SystemError&) {
    return {};
  }
}

// The smallest number of a file that is left to others: to read how a process ended takes one, and
// the caller's other threads may need some.
int first_spare_file() {
  constexpr rlim_t kMostSpare = 16;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return INT_MAX;
  const rlim_t most = std::min<rlim_t>(limit.rlim_cur, INT_MAX);
  return static_cast<int>(most - std::min(kMostSpare, most / 4));
}

// Returns -1 if the system refuses it (errno) or only spare files are left (EMFILE).
int open_pidfd(pid_t pid, int first_spare) {
  const int file = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (file < first_spare) return file;
  close(file);
  errno = EMFILE;
  return -1;
}

// How a process ended whose end was already taken, as where SIGCHLD is ignored: Linux 6.15 keeps it
// for those who had opened a file before.
std::optional<Loss> end_kept_by(int file, pid_t pid) {
  struct Info {  // struct pidfd_info of the kernel
    std::uint64_t mask, cgroup;
    std::uint32_t ids[11];
    std::int32_t exit_code;
  };
  static_assert(sizeof(Info) == 64);
  constexpr std::uint64_t kExit = 8;                     // PIDFD_INFO_EXIT
  constexpr unsigned long kGet = _IOWR(0xFF, 11, Info);  // PIDFD_GET_INFO
  Info info{};
  info.mask = kExit;
  if (file < 0 || ioctl(file, kGet, &info) != 0 || (info.mask & kExit) == 0) return {};
  return loss_of(pid, info.exit_code);
}

// Closes the file, which is ready a moment before the kernel keeps the end of a process whose end
// is ignored. Another can be opened then, however few there are.
std::optional<Loss> end_that_is_told(pid_t pid, int file) {
  constexpr int kTries = 5;
  constexpr int kMomentMs = 1;
  std::optional<Loss> end;
  for (int i = 0; i < kTries && !end; ++i) {
    if (i > 0) poll(nullptr, 0, kMomentMs);
    end = end_of(pid);
    if (!end) end = end_kept_by(file, pid);
  }
  if (file >= 0) close(file);
  return end ? end : end_of(pid);
}

}  // namespace

std::optional<Loss> end_of(pid_t pid) {
  const std::string text = stat_of(pid);
  // The name, in brackets, may hold anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::string_view rest = std::string_view(text).substr(name_end + 1);
  const std::string_view state = take_word(rest);
  if (state != "Z" && state != "X") return {};
  constexpr int kFieldsBetween = 48;  // state is the third field of all, the exit code the 52nd
  for (int i = 0; i < kFieldsBetween; ++i) take_word(rest);
  const std::string_view word = take_word(rest);
  int status = 0;
  std::from_chars(word.data(), word.data() + word.size(), status);
  return loss_of(pid, status);
}

LossWatch::LossWatch(Control& control, ForkOrder order, int all_gone)
    : control_(control),
      files_(static_cast<std::size_t>(control.processes()) + 1,
             {.fd = -1, .events = POLLIN, .revents = 0}),
      watched_(static_cast<std::size_t>(control.processes()), Watched::unseen),
      parents_(static_cast<std::size_t>(control.processes()), -1),
      unseen_(control.processes()),
      pause_ns_(kMs),
      next_look_ns_(now_ns() + pause_ns_) {
  files_[0] = {.fd = all_gone, .events = 0, .revents = 0};
  for (int self = 1; self <= control.processes(); ++self) {
    for (const int child : children_of(self, control.processes() + 1, order)) {
      parents_[static_cast<std::size_t>(child - 1)] = self - 1;
    }
  }
  for (int p = 0; p < control.processes(); ++p) {
    children_left_ += is_child(p) && control.process(p).pid.load() > 0;
  }
}

LossWatch::~LossWatch() { forgo_files(); }

void LossWatch::open_files() {
  if (unseen_ == 0) return;
  const int first_spare = first_spare_file();
  for (int p = 0; p < control_.processes(); ++p) {
    const auto i = static_cast<std::size_t>(p);
    const pid_t pid = control_.process(p).pid.load();
    if (watched_[i] != Watched::unseen || pid <= 0) continue;
    watched_[i] = Watched::seen;
    --unseen_;
    files_[i + 1].fd = open_pidfd(pid, first_spare);
    if (files_[i + 1].fd >= 0) continue;
    ++refused_;
    if (errno == ESRCH) next_look_ns_ = 0;  // it is gone, and may take others with it
  }
}

void LossWatch::forgo_files() {
  for (std::size_t i = 1; i < files_.size(); ++i) {
    if (files_[i].fd < 0) continue;
    close(std::exchange(files_[i].fd, -1));
    ++refused_;
  }
}

// Processes that are forked further down the tree show up only in the memory that the team shares.
int LossWatch::interval(int milliseconds) const {
  const bool more_to_see = unseen_ > 0 && !control_.stop().load();
  if (refused_ == 0 && !more_to_see) return milliseconds;
  const std::uint64_t now = now_ns();
  const std::uint64_t left_ns = next_look_ns_ > now ? next_look_ns_ - now : 0;
  const int left = static_cast<int>(std::min<std::uint64_t>((left_ns + kMs - 1) / kMs, INT_MAX));
  return milliseconds < 0 ? left : std::min(milliseconds, left);
}

// Only what is open: the system takes no more entries than files may be open.
void LossWatch::poll_files(int milliseconds) {
  polled_.clear();
  for (pollfd& file : files_) {
    file.revents = 0;
    if (file.fd >= 0) polled_.push_back(file);
  }
  if (poll(polled_.data(), polled_.size(), milliseconds) >= 0) {
    auto polled = polled_.begin();
    for (pollfd& file : files_) {
      if (file.fd >= 0) file.revents = (polled++)->revents;
    }
  } else if (errno != EINTR) {  // not a signal of the caller's own: files say nothing
    forgo_files();
    timespec moment{0, static_cast<long>(kMs)};
    if (milliseconds != 0) nanosleep(&moment, nullptr);
  }
}

// Without a file.
bool LossWatch::has_ended(int process) const {
  const pid_t pid = control_.process(process).pid.load();
  if (!is_child(process)) return end_of(pid) || kill(pid, 0) != 0;
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

// A lost process takes those with it that it has forked, and one of them may be seen first: while
// the threads of the lost one end, one after the other.
bool LossWatch::parent_is_to_blame(int process, const Loss& loss) {
  constexpr int kEndingMs = 100;
  const int parent = parents_[static_cast<std::size_t>(process)];
  if (parent < 0 || !loss.by_signal || loss.code != SIGKILL) return false;
  if (running_thread(stat_of(control_.process(parent).pid.load()))) return false;
  pollfd file{
      .fd = files_[static_cast<std::size_t>(parent) + 1].fd, .events = POLLIN, .revents = 0};
  bool ended = file.fd >= 0 && poll(&file, 1, kEndingMs) > 0;
  for (int ms = 0; file.fd < 0 && !ended && ms < kEndingMs; ++ms) {
    if (ms > 0) poll(nullptr, 0, 1);
    ended = has_ended(parent);
  }
  return ended && note_end(parent, nullptr);
}

// Returns whether the process was lost.
bool LossWatch::note_end(int process, const LossListener* listener) {
  const auto i = static_cast<std::size_t>(process);
  if (watched_[i] != Watched::seen) return control_.failed();
  watched_[i] = Watched::ended;
  ProcessRecord& record = control_.process(process);
  const int file = std::exchange(files_[i + 1].fd, -1);
  refused_ -= file < 0;
  children_left_ -= is_child(process);
  if (record.finished.load()) {
    if (file >= 0) close(file);
    return false;
  }
  const pid_t pid = record.pid.load();
  std::optional<Loss> loss = end_that_is_told(pid, file);
  // A parent that has taken the end has recorded it.
  if (!loss && control_.failed()) return true;
  if (!loss) loss = Loss{-1, pid, false, kEndUnknown};
  loss->process = process;
  if (listener == nullptr && parent_is_to_blame(process, *loss)) return true;
  control_.lose(*loss);
  if (listener != nullptr) listener->lost(listener->context, *loss);
  return true;
}

void LossWatch::note_ends(bool without_files, const LossListener* listener) {
  const bool is_look = without_files && refused_ + unseen_ > 0;
  const std::uint64_t before = is_look ? core::clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
  // Parents come before their children.
  for (int p = 0; p < control_.processes(); ++p) {
    const auto i = static_cast<std::size_t>(p);
    if (watched_[i] != Watched::seen) continue;
    const pollfd& file = files_[i + 1];
    const bool may_have_ended = file.fd < 0 ? without_files && has_ended(p) : file.revents != 0;
    if (may_have_ended && note_end(p, listener)) lost_ = true;
  }
  if (!is_look) return;
  const std::uint64_t cpu_ns = core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
  pause_ns_ = std::max(std::min(2 * pause_ns_, kUsualPauseNs), kPauseOfLook * cpu_ns);
  next_look_ns_ = now_ns() + pause_ns_;
}

void LossWatch::wait(int milliseconds, const LossListener* listener) {
  open_files();
  poll_files(interval(milliseconds));
  note_ends(now_ns() >= next_look_ns_, listener);
}

void LossWatch::look(const LossListener* listener) {
  open_files();
  poll_files(0);
  note_ends(true, listener);
}

}  // namespace tabane::team
