#include "tabane/team/loss_watch.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "tabane/team/proc.h"

namespace tabane::team {
namespace {

constexpr int kLongestLookMs = 20;

Loss loss_of(pid_t pid, int status) {
  const bool by_signal = WIFSIGNALED(status);
  return {-1, pid, by_signal, by_signal ? WTERMSIG(status) : WEXITSTATUS(status)};
}

std::string stat_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  return text;
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

// The file of a process whose end is ignored is ready a moment before the kernel keeps the end.
std::optional<Loss> end_that_is_told(pid_t pid, int file) {
  constexpr int kTries = 5;
  constexpr int kMomentMs = 1;
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) poll(nullptr, 0, kMomentMs);
    if (const auto end = end_of(pid)) return end;
    if (const auto end = end_kept_by(file, pid)) return end;
  }
  return {};
}

}  // namespace

std::optional<Loss> end_of(pid_t pid) {
  const std::string text = stat_of(pid);
  // The name, in brackets, may hold anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int kFieldsToCode = 50;  // state is the third field of all, the exit code the 52nd
  std::string state, field;
  fields >> state;
  if (state != "Z" && state != "X") return {};
  for (int i = 1; i < kFieldsToCode; ++i) fields >> field;
  return loss_of(pid, fields ? std::stoi(field) : 0);
}

LossWatch::LossWatch(Control& control, ForkOrder order, int all_gone)
    : control_(control),
      files_(static_cast<std::size_t>(control.processes()) + 1,
             {.fd = -1, .events = POLLIN, .revents = 0}),
      states_(static_cast<std::size_t>(control.processes()), State::unseen),
      parents_(static_cast<std::size_t>(control.processes()), -1),
      unseen_(control.processes()) {
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

LossWatch::~LossWatch() {
  for (std::size_t i = 1; i < files_.size(); ++i) {
    if (files_[i].fd >= 0) close(files_[i].fd);
  }
}

void LossWatch::open_files() {
  if (unseen_ == 0) return;
  for (int p = 0; p < control_.processes(); ++p) {
    const auto i = static_cast<std::size_t>(p);
    const pid_t pid = control_.process(p).pid.load();
    if (states_[i] != State::unseen || pid <= 0) continue;
    states_[i] = State::seen;
    --unseen_;
    files_[i + 1].fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    refused_ += files_[i + 1].fd < 0;
  }
}

// Those that are forked further down tell nobody but the memory that the team shares.
int LossWatch::interval(int milliseconds) const {
  int most = milliseconds < 0 ? 1 << 30 : milliseconds;
  const bool more_to_see = unseen_ > 0 && !control_.stop().load();
  if (refused_ > 0 || more_to_see) most = std::min(most, look_again_ms_);
  return most == 1 << 30 ? -1 : most;
}

bool LossWatch::may_have_ended(int process) const {
  const auto i = static_cast<std::size_t>(process);
  if (states_[i] != State::seen) return false;
  return files_[i + 1].fd < 0 ? has_ended(process) : files_[i + 1].revents != 0;
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
  const pollfd& known = files_[static_cast<std::size_t>(parent) + 1];
  if (known.fd < 0 || running_thread(stat_of(control_.process(parent).pid.load()))) return false;
  pollfd file{.fd = known.fd, .events = POLLIN, .revents = 0};
  return poll(&file, 1, kEndingMs) > 0 && note_end(parent, nullptr);
}

// Returns whether the process was lost.
bool LossWatch::note_end(int process, const LossListener* listener) {
  const auto i = static_cast<std::size_t>(process);
  if (states_[i] != State::seen) return control_.failed();
  states_[i] = State::ended;
  ProcessRecord& record = control_.process(process);
  const int file = std::exchange(files_[i + 1].fd, -1);
  refused_ -= file < 0;
  children_left_ -= is_child(process);
  std::optional<Loss> loss;
  if (!record.finished.load()) {
    const pid_t pid = record.pid.load();
    loss = end_that_is_told(pid, file);
    // A parent that has taken the end has told of it.
    if (!loss && !control_.failed()) loss = Loss{-1, pid, false, kEndUnknown};
  }
  if (file >= 0) close(file);
  if (!loss) return !record.finished.load();
  loss->process = process;
  if (listener == nullptr && parent_is_to_blame(process, *loss)) return true;
  control_.lose(process, -1, loss->pid, loss->by_signal, loss->code);
  if (listener != nullptr) listener->lost(listener->context, *loss);
  return true;
}

bool LossWatch::wait(int milliseconds, const LossListener* listener) {
  open_files();
  // A signal of the caller's own interrupts this; then files tell nothing.
  if (poll(files_.data(), files_.size(), interval(milliseconds)) < 0) {
    for (pollfd& file : files_) file.revents = 0;
  }
  if (refused_ + unseen_ > 0) look_again_ms_ = std::min(2 * look_again_ms_, kLongestLookMs);
  bool lost = false;
  // Parents come before their children.
  for (int p = 0; p < control_.processes(); ++p) {
    if (may_have_ended(p)) lost = note_end(p, listener) || lost;
  }
  return lost;
}

}  // namespace tabane::team
