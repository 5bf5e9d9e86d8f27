#include "tabane/program/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <mutex>

#include "tabane/core/clock.h"
#include "tabane/program/layout.h"

namespace tabane::program {
namespace {

// A character in the last column would let some terminals begin another line.
std::size_t columns_for_a_line() { return terminal_width(STDERR_FILENO).value_or(2) - 1; }

void draw_line(const std::string& text) {
  fmt::print(stderr, "\r{}\033[K", text);
  std::fflush(stderr);
}

// 'timeout' and launchers signal a process and then its group: two signals, but one wish.
constexpr std::uint64_t kOneWishNs = 300'000'000;

volatile std::sig_atomic_t caught_signal = 0;
std::uint64_t caught_ns = 0;  // by the monotonic clock

void note_signal(int signal_number) {
  const std::uint64_t now = core::clock_ns(CLOCK_MONOTONIC);
  if (caught_signal == 0) {
    caught_signal = signal_number;
    caught_ns = now;
    return;
  }
  if (now - caught_ns < kOneWishNs) return;
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

}  // namespace

ProgressLine::ProgressLine(bool quiet) : on_(!quiet && isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { clear(); }

std::string progress_line(const std::string& what, double done, double seconds_left,
                          std::size_t width) {
  const double share = std::clamp(done, 0.0, 1.0);
  std::string left;
  if (seconds_left >= 0) {
    const int seconds = static_cast<int>(std::ceil(seconds_left));
    left = fmt::format("  {}:{:02} left", seconds / 60, seconds % 60);
  }
  const std::string percent = fmt::format("{:3.0f} %  ", 100 * share);
  const std::size_t taken = percent.size() + left.size();
  const std::size_t room = width > taken ? width - taken : 0;
  std::string bar;
  for (const std::size_t columns : {24, 12}) {
    if (display_width(what) + columns + 3 > room) continue;
    const std::string filled(static_cast<std::size_t>(share * static_cast<double>(columns)), '=');
    bar = fmt::format("[{:{}}] ", filled, columns);
    break;
  }
  const std::string shown = cut_to_width(what, room - bar.size());
  return cut_to_width(fmt::format("{}{}{}{}", bar, percent, shown, left), width);
}

void ProgressLine::show(const std::string& what, double done, double seconds_left) {
  if (!on_) return;
  draw_line(progress_line(what, done, seconds_left, columns_for_a_line()));
  drawn_ = true;
}

void ProgressLine::clear() {
  if (!drawn_) return;
  draw_line("");
  drawn_ = false;
}

AwaitedLine::AwaitedLine(const std::string& what, bool on, int silent_seconds) {
  if (!on || isatty(STDERR_FILENO) != 1) return;
  thread_ = std::jthread([=](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any stopped;
    const auto begin = std::chrono::steady_clock::now();
    for (int seconds = silent_seconds;; ++seconds) {
      stopped.wait_until(lock, stop, begin + std::chrono::seconds(seconds), [] { return false; });
      if (stop.stop_requested()) {
        if (seconds > silent_seconds) draw_line("");
        return;
      }
      draw_line(cut_to_width(fmt::format("{} ({} s)", what, seconds), columns_for_a_line()));
    }
  });
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

}  // namespace tabane::program
