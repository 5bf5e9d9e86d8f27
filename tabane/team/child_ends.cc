#include "tabane/team/child_ends.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tabane::team {

pid_t wait_for(pid_t pid, int& status, int options) {
  pid_t got;
  do {
    got = waitpid(pid, &status, options);
  } while (got < 0 && errno == EINTR);
  return got;
}

ChildEnds::~ChildEnds() {
  for (const pollfd& file : files_) {
    if (file.fd >= 0) close(file.fd);
  }
}

void ChildEnds::add(pid_t pid) {
  pids_.push_back(pid);
  ++left_;
}

ChildEnds::End ChildEnds::next() {
  for (;; sleep()) {
    // For the last a plain wait will do.
    const int options = left_ > 1 ? WNOHANG : 0;
    for (std::size_t k = 0; k < pids_.size(); ++k) {
      if (pids_[k] == 0 || (options != 0 && !may_have_ended(k))) continue;
      End end{static_cast<int>(k), 0, 0};
      end.got = wait_for(pids_[k], end.status, options);
      if (end.got == 0) continue;
      remove(k);
      return end;
    }
  }
}

bool ChildEnds::may_have_ended(std::size_t k) const {
  return files_.empty() || files_[k].fd < 0 || files_[k].revents != 0;
}

void ChildEnds::sleep() {
  constexpr int kLookAgainMs = 2;
  if (files_.empty()) open_files();
  if (poll(files_.data(), files_.size(), unseen_ > 0 ? kLookAgainMs : -1) >= 0) return;
  // An interruption may have been the news, and tells nothing else.
  if (errno != EINTR) poll(nullptr, 0, kLookAgainMs);
  for (pollfd& file : files_) file.revents = POLLIN;
}

// Refused by old kernels, by some sandboxes, and where too many files are open: such children are
// looked at now and then.
void ChildEnds::open_files() {
  for (const pid_t pid : pids_) {
    const int file = pid == 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    files_.push_back({.fd = file, .events = POLLIN, .revents = 0});
    unseen_ += pid != 0 && file < 0;
  }
}

void ChildEnds::remove(std::size_t k) {
  pids_[k] = 0;
  --left_;
  if (files_.empty()) return;
  if (files_[k].fd >= 0) {
    close(std::exchange(files_[k].fd, -1));
  } else {
    --unseen_;
  }
}

}  // namespace tabane::team
