#include "tabane/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>

namespace tabane::cli {
namespace {

volatile std::sig_atomic_t caught_signal = 0;

void note_signal(int signal_number) {
  caught_signal = signal_number;
  // The next one is meant: back to the default, which ends the program.
  std::signal(signal_number, SIG_DFL);
}

}  // namespace

ProgressLine::ProgressLine(bool quiet) : on_(!quiet && isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const std::string& what, double done, double seconds_left) {
  if (!on_) return;
  constexpr int kWidth = 24;
  const int filled = static_cast<int>(std::clamp(done, 0.0, 1.0) * kWidth);
  std::string left;
  if (seconds_left >= 0) {
    const int seconds = static_cast<int>(std::ceil(seconds_left));
    left = fmt::format("  {}:{:02} left", seconds / 60, seconds % 60);
  }
  const std::string line = fmt::format("\r[{}{}] {:3.0f} %  {}{}\033[K", std::string(filled, '='),
                                       std::string(kWidth - filled, ' '), 100 * done, what, left);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

StopOnSignal::StopOnSignal() {
  caught_signal = 0;
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
  // nohup has it ignored already, and that stays.
  if (std::signal(SIGHUP, note_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

StopOnSignal::~StopOnSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool StopOnSignal::requested() { return caught_signal != 0; }

void StopOnSignal::die_as_asked() {
  if (caught_signal == 0) return;
  std::fflush(nullptr);
  std::signal(caught_signal, SIG_DFL);
  std::raise(caught_signal);
}

}  // namespace tabane::cli
