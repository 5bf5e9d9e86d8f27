#include "tabane/team/loss_watch.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace tabane::team {

std::optional<Loss> end_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  // The name, in brackets, may hold anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int kFieldsToCode = 50;  // state is the third field of all, the exit code the 52nd
  std::string state, field;
  fields >> state;
  if (state != "Z" && state != "X") return {};
  for (int i = 1; i < kFieldsToCode; ++i) fields >> field;
  const int status = fields ? std::stoi(field) : 0;
  const bool by_signal = WIFSIGNALED(status);
  return Loss{-1, pid, by_signal, by_signal ? WTERMSIG(status) : WEXITSTATUS(status)};
}

LossWatch::LossWatch(Control& control, int all_gone)
    : control_(control),
      files_(static_cast<std::size_t>(control.processes()) + 1, {.fd = -1, .events = POLLIN}),
      known_(static_cast<std::size_t>(control.processes())) {
  files_[0] = {.fd = all_gone, .events = 0, .revents = 0};
}

LossWatch::~LossWatch() {
  for (std::size_t i = 1; i < files_.size(); ++i) {
    if (files_[i].fd >= 0) close(files_[i].fd);
  }
}

// Where the system refuses, the parents' signals must do.
void LossWatch::open_files() {
  for (int p = 0; p < control_.processes(); ++p) {
    const auto i = static_cast<std::size_t>(p);
    const pid_t pid = control_.process(p).pid.load();
    if (known_[i] || pid <= 0) continue;
    known_[i] = true;
    files_[i + 1].fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  }
}

bool LossWatch::wait(int milliseconds, const LossListener& listener) {
  open_files();
  if (poll(files_.data(), files_.size(), milliseconds) <= 0) return false;
  for (std::size_t i = 1; i < files_.size(); ++i) {
    if (files_[i].fd < 0 || files_[i].revents == 0) continue;
    close(std::exchange(files_[i].fd, -1));
    const int process = static_cast<int>(i) - 1;
    ProcessRecord& record = control_.process(process);
    if (record.finished.load()) continue;
    // Nothing if its parent has taken the end: then it has told of it.
    if (std::optional<Loss> loss = end_of(record.pid.load())) {
      loss->process = process;
      control_.lose(process, -1, loss->pid, loss->by_signal, loss->code);
      listener.lost(listener.context, *loss);
    }
  }
  return (files_[0].revents & POLLHUP) != 0;
}

}  // namespace tabane::team
