// A progress line on a terminal, and Ctrl-C as a request to stop rather than a death.
#pragma once

#include <cstddef>
#include <string>
#include <thread>

namespace tabane::program {

// Returns "[=====     ]  42 %  simd.dot.l1  1:02 left" in at most `width` columns, if need be
// with a shorter bar, without it, and with less of `what`.
std::string progress_line(const std::string& what, double done, double seconds_left,
                          std::size_t width);

// Draws progress_line() on stderr, on a terminal only, in the width that it has now; clears it at
// the end.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // done: 0…1; seconds_left: an estimate, < 0 if there is none.
  void show(const std::string& what, double done, double seconds_left);
  // Takes the line away, so that a result can be printed.
  void clear();

 private:
  bool on_;
  bool drawn_ = false;
};

// While it lives, shows on stderr what is awaited and for how long, once a second after some have
// passed; on a terminal only. Clears it at the end.
class AwaitedLine {
 public:
  // on: otherwise it shows nothing.
  AwaitedLine(const std::string& what, bool on, int silent_seconds = 2);

 private:
  std::jthread thread_;
};

// Turns the first Ctrl-C (SIGINT, SIGTERM) into a flag for a scope; the next one that does not come
// at once ends the program.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  static bool requested();
  // Ends the program by the signal that was caught, so that the shell knows; returns if there was
  // none.
  static void die_as_asked();
};

}  // namespace tabane::program
