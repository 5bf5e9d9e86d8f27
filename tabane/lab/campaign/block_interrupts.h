// Ctrl-C reaches all processes of a terminal: those that are forked to measure would die of it, and
// with them what they have measured.
#pragma once

#include <csignal>
#include <initializer_list>

namespace tabane::lab {

// While it lives, the signals that ask a whole group of processes to end wait: SIGINT (Ctrl-C),
// SIGTERM (as of timeout) and SIGHUP (the terminal is closed). They do so for the calling thread
// and for the processes that it forks. Then they reach the caller alone, if the others have ended.
class BlockInterrupts {
 public:
  BlockInterrupts() {
    sigset_t asking;
    sigemptyset(&asking);
    for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&asking, signal_number);
    pthread_sigmask(SIG_BLOCK, &asking, &before_);
  }
  ~BlockInterrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockInterrupts(const BlockInterrupts&) = delete;
  BlockInterrupts& operator=(const BlockInterrupts&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tabane::lab
