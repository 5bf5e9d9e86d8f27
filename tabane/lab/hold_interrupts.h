// Ctrl-C reaches all processes of a terminal: those that are forked to measure would die of it, and
// with them what they have measured.
#pragma once

#include <csignal>

namespace tabane::lab {

// While it lives, SIGINT waits: for the calling thread and for the processes that it forks. Then it
// reaches the caller alone, if the others have ended.
class HoldInterrupts {
 public:
  HoldInterrupts() {
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &before_);
  }
  ~HoldInterrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HoldInterrupts(const HoldInterrupts&) = delete;
  HoldInterrupts& operator=(const HoldInterrupts&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tabane::lab
